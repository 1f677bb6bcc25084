/* SPDX-License-Identifier: MIT */
/* An ELF file in a memfd with a .text at 0x1000 and whatever sections, symbols and build-id a test wants. */
#ifndef ELF_EXAMPLE_H
#define ELF_EXAMPLE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXAMPLE_TEXT 0x1000
#define EXAMPLE_TEXT_SIZE 0x1000

struct example_symbol {
	const char *name;
	uint64_t value, size;
	unsigned binding, type;
};

struct example_section {
	const char *name;
	uint64_t addr;
	const void *bytes;
	size_t n;
};

struct example {
	uint8_t build_id[20];
	bool has_build_id;
	const struct example_symbol *symbols;
	size_t nsymbols;
	const struct example_section *sections;
	size_t nsections;
};

/* Strings of the file under construction. */
struct example_strings {
	char bytes[4096];
	size_t n;
};

static inline uint32_t example_string(struct example_strings *s, const char *text)
{
	size_t at = s->n, n = strlen(text) + 1;

	if (n > sizeof(s->bytes) - at)
		return 0;
	memcpy(s->bytes + at, text, n);
	s->n += n;
	return (uint32_t)at;
}

static inline Elf_Scn *example_section_add(Elf *elf, uint32_t name, uint32_t type, const void *bytes,
					   size_t n)
{
	Elf_Scn *scn = elf_newscn(elf);
	Elf_Data *data = elf_newdata(scn);
	Elf64_Shdr *sh = elf64_getshdr(scn);

	sh->sh_name = name;
	sh->sh_type = type;
	data->d_buf = (void *)bytes;
	data->d_size = n;
	data->d_align = type == SHT_SYMTAB ? 8 : 4;
	data->d_type = type == SHT_SYMTAB ? ELF_T_SYM : ELF_T_BYTE;
	return scn;
}

static inline void example_add_symbols(Elf *elf, const struct example *e, struct example_strings *s,
				       Elf64_Sym *table)
{
	Elf_Scn *scn;

	for (size_t i = 0; i < e->nsymbols; i++) {
		const struct example_symbol *from = &e->symbols[i];

		table[i + 1] = (Elf64_Sym){
			.st_name = example_string(s, from->name), .st_value = from->value,
			.st_size = from->size,
			.st_info = ELF64_ST_INFO(from->binding, from->type), .st_shndx = 2,
		};
	}
	scn = example_section_add(elf, example_string(s, ".symtab"), SHT_SYMTAB, table,
				  (e->nsymbols + 1) * sizeof(*table));
	elf64_getshdr(scn)->sh_link = 1;
	elf64_getshdr(scn)->sh_entsize = sizeof(*table);
}

/* Returns the descriptor. Section 1 is the strings, 2 is .text. */
static inline int example_build(const struct example *e)
{
	static struct { uint32_t namesz, descsz, type; char name[4]; uint8_t id[20]; } note;
	static struct example_strings strings;
	static Elf64_Sym symbols[256];
	int fd = memfd_create("example", MFD_CLOEXEC);
	Elf *elf;
	Elf64_Ehdr *eh;
	Elf_Scn *text;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_WRITE, NULL);
	eh = elf64_newehdr(elf);
	eh->e_ident[EI_DATA] = ELFDATA2LSB;
	eh->e_machine = EM_X86_64;
	eh->e_type = ET_DYN;
	eh->e_version = EV_CURRENT;
	eh->e_shstrndx = 1;
	strings = (struct example_strings){ .n = 1 };
	example_section_add(elf, example_string(&strings, ".strtab"), SHT_STRTAB, strings.bytes,
			    sizeof(strings.bytes));
	text = example_section_add(elf, example_string(&strings, ".text"), SHT_NOBITS, NULL,
				   EXAMPLE_TEXT_SIZE);
	elf64_getshdr(text)->sh_flags = SHF_ALLOC | SHF_EXECINSTR;
	elf64_getshdr(text)->sh_addr = EXAMPLE_TEXT;
	memset(symbols, 0, sizeof(symbols));
	if (e->nsymbols)
		example_add_symbols(elf, e, &strings, symbols);
	if (e->has_build_id) {
		note.namesz = 4;
		note.descsz = sizeof(note.id);
		note.type = NT_GNU_BUILD_ID;
		memcpy(note.name, "GNU", 4);
		memcpy(note.id, e->build_id, sizeof(note.id));
		example_section_add(elf, example_string(&strings, ".note.gnu.build-id"), SHT_NOTE, &note,
				    sizeof(note));
	}
	for (size_t i = 0; i < e->nsections; i++) {
		const struct example_section *from = &e->sections[i];
		uint32_t name = example_string(&strings, from->name);
		Elf_Scn *scn = example_section_add(elf, name, SHT_PROGBITS, from->bytes, from->n);

		elf64_getshdr(scn)->sh_addr = from->addr;
	}
	if (elf_update(elf, ELF_C_WRITE) < 0) {
		close(fd);
		fd = -1;
	}
	elf_end(elf);
	return fd;
}

#endif

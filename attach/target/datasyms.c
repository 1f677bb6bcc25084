/* SPDX-License-Identifier: MIT */
#include "attach/target/datasyms.h"

#include <gelf.h>
#include <stddef.h>
#include <string.h>

#define SYMBOLS_MAX (8u << 20)

/* Of several symbols, the smallest wins, then the global one. */
static bool better(const GElf_Sym *sym, const GElf_Sym *best)
{
	if (sym->st_size != best->st_size)
		return sym->st_size < best->st_size;
	return GELF_ST_BIND(sym->st_info) == STB_GLOBAL && GELF_ST_BIND(best->st_info) != STB_GLOBAL;
}

static bool covers(const GElf_Sym *sym, taddr addr)
{
	return GELF_ST_TYPE(sym->st_info) == STT_OBJECT && sym->st_shndx != SHN_UNDEF &&
	       addr >= sym->st_value && addr - sym->st_value < sym->st_size;
}

static void search_section(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, taddr addr, GElf_Sym *best,
			   const char **name)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n = data && sh->sh_entsize ? data->d_size / sizeof(Elf64_Sym) : 0;

	for (size_t i = 0; i < n && i < SYMBOLS_MAX; i++) {
		const char *text;
		GElf_Sym sym;

		if (!gelf_getsym(data, (int)i, &sym) || !covers(&sym, addr) || (*name && !better(&sym, best)))
			continue;
		text = elf_strptr(elf, sh->sh_link, sym.st_name);
		if (!text || !*text)
			continue;
		*best = sym;
		*name = text;
	}
}

bool datasyms_over(Elf *elf, taddr addr, const char **name, taddr *begin)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	GElf_Sym best = { 0 };

	*name = NULL;
	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &sh) && (sh.sh_type == SHT_SYMTAB || sh.sh_type == SHT_DYNSYM))
			search_section(elf, scn, &sh, addr, &best, name);
	*begin = best.st_value;
	return *name;
}

static bool find_in(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, const char *name, taddr *addr)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n = data && sh->sh_entsize ? data->d_size / sizeof(Elf64_Sym) : 0;

	for (size_t i = 0; i < n && i < SYMBOLS_MAX; i++) {
		const char *text;
		GElf_Sym sym;

		if (!gelf_getsym(data, (int)i, &sym) || GELF_ST_TYPE(sym.st_info) != STT_OBJECT ||
		    sym.st_shndx == SHN_UNDEF)
			continue;
		text = elf_strptr(elf, sh->sh_link, sym.st_name);
		if (!text || strcmp(text, name) != 0)
			continue;
		*addr = sym.st_value;
		return true;
	}
	return false;
}

bool datasyms_find(Elf *elf, const char *name, taddr *addr)
{
	static const GElf_Word kinds[] = { SHT_DYNSYM, SHT_SYMTAB };
	GElf_Shdr sh;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));)
			if (gelf_getshdr(scn, &sh) && sh.sh_type == kinds[i] && find_in(elf, scn, &sh, name, addr))
				return true;
	return false;
}

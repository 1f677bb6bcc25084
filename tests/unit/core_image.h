/* SPDX-License-Identifier: MIT */
/* core_image: core files put together by hand. */
#ifndef CORE_IMAGE_H
#define CORE_IMAGE_H

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>
#include <unistd.h>

#define CORE_SEGMENTS 8
#define CORE_NOTES 65536

struct core_image {
	Elf64_Ehdr eh;
	Elf64_Phdr ph[1 + CORE_SEGMENTS];	/* [0]: the notes */
	const void *contents[1 + CORE_SEGMENTS];
	unsigned nph;
	uint8_t notes[CORE_NOTES];
	size_t nnotes;
};

static inline void core_begin(struct core_image *c)
{
	memset(c, 0, sizeof(*c));
	memcpy(c->eh.e_ident, ELFMAG, SELFMAG);
	c->eh.e_ident[EI_CLASS] = ELFCLASS64;
	c->eh.e_ident[EI_DATA] = ELFDATA2LSB;
	c->eh.e_ident[EI_VERSION] = EV_CURRENT;
	c->eh.e_type = ET_CORE;
	c->eh.e_machine = EM_X86_64;
	c->eh.e_phentsize = sizeof(Elf64_Phdr);
	c->eh.e_phoff = sizeof(c->eh);
	c->nph = 1;
}

static inline void core_note(struct core_image *c, const char *name, uint32_t type, const void *desc,
			     size_t n)
{
	Elf64_Nhdr nh = { (uint32_t)strlen(name) + 1, (uint32_t)n, type };
	uint8_t *p = c->notes + c->nnotes;

	memcpy(p, &nh, sizeof(nh));
	p += sizeof(nh);
	memcpy(p, name, nh.n_namesz);
	p += (nh.n_namesz + 3) & ~3u;
	memcpy(p, desc, n);
	p += (n + 3) & ~(size_t)3;
	c->nnotes = (size_t)(p - c->notes);
}

static inline void core_thread(struct core_image *c, pid_t tid, uint64_t sp, uint64_t fs_base)
{
	struct elf_prstatus st = { .pr_pid = tid };
	struct user_regs_struct regs = { .rsp = sp, .fs_base = fs_base, .rip = 0x401000 };

	memcpy(&st.pr_reg, &regs, sizeof(regs));
	core_note(c, "CORE", NT_PRSTATUS, &st, sizeof(st));
}

/* @said bytes in the file, from @contents. */
static inline Elf64_Phdr *core_load(struct core_image *c, uint64_t at, uint64_t size, uint64_t said,
				    unsigned flags, const void *contents)
{
	Elf64_Phdr *ph = &c->ph[c->nph];

	*ph = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = flags, .p_vaddr = at, .p_memsz = size,
			    .p_filesz = said };
	c->contents[c->nph++] = contents;
	return ph;
}

/* NT_FILE of up to 8 lines; offsets in pages. */
struct core_line {
	uint64_t lo, hi, page;
	const char *path;
};

static inline void core_files(struct core_image *c, const struct core_line *lines, size_t n)
{
	uint8_t desc[4096];
	uint64_t head[2] = { n, 4096 };
	size_t at = sizeof(head) + n * 24;

	memcpy(desc, head, sizeof(head));
	for (size_t i = 0; i < n; i++) {
		memcpy(desc + sizeof(head) + i * 24, &lines[i], 24);
		strcpy((char *)desc + at, lines[i].path);
		at += strlen(lines[i].path) + 1;
	}
	core_note(c, "CORE", NT_FILE, desc, at);
}

/* Lay out headers, notes, then the contents, each @shift behind a page boundary of the file. */
static inline void core_place(struct core_image *c, uint64_t shift)
{
	uint64_t at = sizeof(c->eh) + c->nph * sizeof(c->ph[0]);

	c->eh.e_phnum = (uint16_t)c->nph;
	c->ph[0] = (Elf64_Phdr){ .p_type = PT_NOTE, .p_offset = at, .p_filesz = c->nnotes };
	at += c->nnotes;
	for (unsigned i = 1; i < c->nph; i++) {
		at = ((at + 4095) & ~4095ull) + shift;
		c->ph[i].p_offset = at;
		at += c->ph[i].p_filesz;
	}
}

/* Write exactly this layout as the file @path, with any phdr that was changed since core_place. */
static inline void core_write(const struct core_image *c, const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ssize_t ok = pwrite(fd, &c->eh, sizeof(c->eh), 0);

	ok = ok < 0 ? ok : pwrite(fd, c->ph, c->nph * sizeof(c->ph[0]), (off_t)c->eh.e_phoff);
	ok = ok < 0 ? ok : pwrite(fd, c->notes, c->nnotes, (off_t)c->ph[0].p_offset);
	for (unsigned i = 1; ok >= 0 && i < c->nph; i++) {
		if (c->contents[i])
			ok = pwrite(fd, c->contents[i], c->ph[i].p_filesz, (off_t)c->ph[i].p_offset);
	}
	if (fd < 0 || ok < 0)
		abort();
	close(fd);
}

#endif

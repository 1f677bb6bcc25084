/* SPDX-License-Identifier: MIT */
/*
 * core_headers: is this file a core, and where are its parts.
 *
 * More than 65,534 segments do not fit into the header's count (PN_XNUM): then the first section header has
 * the count. Both the kernel and gdb write that header last, so a truncated core has none. Then the first
 * segment gives the count: it is the kernel's notes, and they begin where the program headers end.
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/grow.h"
#include "heap/snapshot/core_parts.h"

#define HEADERS_MAX (4u << 20)	/* the kernel's own limit is vm.max_map_count, 65,530 unless raised */

static int refuse(struct core *c, const char *why, const char *what_to_do)
{
	snprintf(c->info->why, sizeof(c->info->why), "%s", why);
	snprintf(c->info->what_to_do, sizeof(c->info->what_to_do), "%s", what_to_do);
	return -ENOEXEC;
}

/* Formats in which cores are often stored: their first bytes. */
static const struct wrapping {
	const char *magic;
	size_t n;
	const char *why, *what_to_do;
} wrappings[] = {
	{ "\x28\xb5\x2f\xfd", 4, "is compressed with zstd",
	  "unzstd makes a core file of it; so does coredumpctl dump" },
	{ "\x1f\x8b", 2, "is compressed with gzip", "gunzip makes a core file of it" },
	{ "\xfd"
	  "7zXZ",
	  5, "is compressed with xz", "unxz makes a core file of it; so does coredumpctl dump" },
	{ "\x04\x22\x4d\x18", 4, "is compressed with lz4",
	  "unlz4 makes a core file of it; so does coredumpctl dump" },
	{ "BZh", 3, "is compressed with bzip2", "bunzip2 makes a core file of it" },
	{ "PK\x03\x04", 4, "is a zip archive", "unpack the core file in it" },
	{ "ProblemType:", 12, "is a report of apport",
	  "apport-unpack gets the core file (CoreDump) out of it" },
	{ "MDMP", 4, "is a minidump, which has no heap in it", "" },
	{ "KDUMP   ", 8, "is a dump of a kernel, not of a process", "" },
};

static int refuse_no_elf(struct core *c)
{
	for (size_t i = 0; i < sizeof(wrappings) / sizeof(wrappings[0]); i++) {
		const struct wrapping *w = &wrappings[i];

		if (c->size >= w->n && !memcmp(c->bytes, w->magic, w->n))
			return refuse(c, w->why, w->what_to_do);
	}
	for (size_t i = 0; i < c->size && !c->bytes[i]; i++)
		if (i + 1 == c->size || i + 1 == 4096)
			return refuse(c, "begins with zeros: it was not written to its end",
				      "the disk may have been full");
	return refuse(c, "is no ELF file", "");
}

static int refuse_machine(struct core *c, unsigned machine)
{
	char why[64];

	if (machine == EM_386)
		return refuse(c, "is a core of a 32-bit process", "only 64-bit processes can be read");
	snprintf(why, sizeof(why), "is a core of another machine (ELF machine %u, not x86-64)", machine);
	return refuse(c, why, "");
}

static int check_header(struct core *c, Elf64_Ehdr *eh)
{
	if (memcmp(c->bytes, ELFMAG, c->size < SELFMAG ? c->size : SELFMAG))
		return refuse_no_elf(c);
	if (c->size < sizeof(*eh))
		return refuse(
			c, "is truncated in its first bytes",
			"the disk was full, or the limit on the size of core files (ulimit -c) too small");
	memcpy(eh, c->bytes, sizeof(*eh));
	if (eh->e_ident[EI_DATA] != ELFDATA2LSB)
		return refuse(c, "is an ELF file of a big-endian machine", "");
	/* type and machine are at the same offset in 32-bit files */
	if (eh->e_type == ET_EXEC || eh->e_type == ET_DYN)
		return refuse(c, "is a program or a shared object, not a core file",
			      "--core wants the core file; the program is given by --exe");
	if (eh->e_type != ET_CORE)
		return refuse(c, "is an ELF file, but no core file", "");
	if (eh->e_machine != EM_X86_64)
		return refuse_machine(c, eh->e_machine);
	if (eh->e_ident[EI_CLASS] != ELFCLASS64)
		return refuse(c, "is a core of a 32-bit process (x32)", "only 64-bit processes can be read");
	return eh->e_phentsize == sizeof(Elf64_Phdr) ? 0
						     : refuse(c, "has program headers of a strange size", "");
}

static bool read_at(const struct core *c, void *to, size_t n, uint64_t offset)
{
	if (offset > c->size || c->size - offset < n)
		return false;
	memcpy(to, c->bytes + offset, n);
	return true;
}

/* The complete file has @n bytes at @offset. */
static void promise(struct core *c, uint64_t offset, uint64_t n)
{
	uint64_t end = n > UINT64_MAX - offset ? UINT64_MAX : offset + n;

	if (end > c->info->whole)
		c->info->whole = end;
}

static uint64_t count_headers(struct core *c, const Elf64_Ehdr *eh)
{
	Elf64_Shdr sh;
	Elf64_Phdr first;

	if (eh->e_phnum != PN_XNUM)
		return eh->e_phnum;
	promise(c, eh->e_shoff, sizeof(sh));
	if (read_at(c, &sh, sizeof(sh), eh->e_shoff))
		return sh.sh_info;
	if (read_at(c, &first, sizeof(first), eh->e_phoff) && first.p_type == PT_NOTE &&
	    first.p_offset > eh->e_phoff)
		return (first.p_offset - eh->e_phoff) / sizeof(first);
	return PN_XNUM;
}

/* How many of @n bytes at @offset the file has. */
static uint64_t part_here(const struct core *c, uint64_t offset, uint64_t n)
{
	uint64_t there = offset < c->size ? c->size - offset : 0;

	return n < there ? n : there;
}

static int add_load(struct core *c, const Elf64_Phdr *ph)
{
	uint64_t whole_size = ph->p_filesz < ph->p_memsz ? ph->p_filesz : ph->p_memsz;

	if (!ph->p_memsz)
		return 0;
	if (ph->p_memsz > UINT64_MAX - ph->p_vaddr || whole_size > UINT64_MAX - ph->p_offset) {
		c->info->damaged++;
		return 0;
	}
	if (grow_for(&c->loads, c->nloads, &c->load_room, sizeof(*c->loads)) < 0)
		return -ENOMEM;
	c->loads[c->nloads++] = (struct core_load){
		.lo = ph->p_vaddr,
		.hi = ph->p_vaddr + ph->p_memsz,
		.offset = ph->p_offset,
		.whole_size = whole_size,
		.here = part_here(c, ph->p_offset, whole_size),
		.flags = ph->p_flags,
	};
	if (whole_size)
		promise(c, ph->p_offset, whole_size);
	return 0;
}

static int add_note(struct core *c, const Elf64_Phdr *ph)
{
	uint64_t here = part_here(c, ph->p_offset, ph->p_filesz);

	if (grow_for(&c->notes, c->nnotes, &c->note_room, sizeof(*c->notes)) < 0)
		return -ENOMEM;
	c->notes[c->nnotes++] = (struct core_note){ ph->p_offset, here, here < ph->p_filesz };
	promise(c, ph->p_offset, ph->p_filesz);
	return 0;
}

int core_read_headers(struct core *c)
{
	Elf64_Ehdr eh;
	uint64_t n;
	int err = check_header(c, &eh);

	if (err)
		return err;
	n = count_headers(c, &eh);
	if (n > HEADERS_MAX) {
		c->info->damaged++;
		n = HEADERS_MAX;
	}
	promise(c, eh.e_phoff, n * sizeof(Elf64_Phdr));
	for (uint64_t i = 0; !err && i < n; i++) {
		Elf64_Phdr ph;

		if (i * sizeof(ph) > UINT64_MAX - eh.e_phoff ||
		    !read_at(c, &ph, sizeof(ph), eh.e_phoff + i * sizeof(ph))) {
			c->info->headers_cut = true;
			break;
		}
		if (ph.p_type == PT_LOAD)
			err = add_load(c, &ph);
		else if (ph.p_type == PT_NOTE)
			err = add_note(c, &ph);
	}
	return err;
}

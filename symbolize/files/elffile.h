/* SPDX-License-Identifier: MIT */
/*
 * elffile: an ELF file opened with libelf, and what all readers of one ask of it.
 *
 * It is mapped, not read: of a debug file with hundreds of megabytes little is
 * looked at. A file cut short under us is a SIGBUS then, which the helper
 * process that reads it may have (symbolize/worker.h).
 */
#ifndef MM_ELFFILE_H
#define MM_ELFFILE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

/* Longer ones are cut; the usual ones have 8, 16 or 20 bytes. */
#define BUILD_ID_MAX 64

struct build_id {
	uint8_t bytes[BUILD_ID_MAX];
	size_t n;	/* 0: there is none */
};

struct elffile {
	int fd;		/* -1 when not open */
	Elf *elf;
};

#define ELFFILE_INIT { -1, NULL }

/*
 * Open the file of @fd, which becomes the elffile's and is closed if this fails.
 * 0; -EINVAL: not a regular 64-bit x86-64 ELF file; -EIO: libelf cannot read it.
 */
must_check int elffile_open(int fd, struct elffile *out);
void elffile_close(struct elffile *f);	/* one that is not open is fine */

/* true for a 64-bit x86-64 program, shared object or debug file (dwz says ET_REL of what it moves out). */
bool elffile_is_ours(Elf *elf);

/* The section @name that has contents, with its header in @sh; or NULL. */
Elf_Scn *elffile_section(Elf *elf, const char *name, GElf_Shdr *sh);

void elffile_build_id(Elf *elf, struct build_id *out);
bool build_id_equal(const struct build_id *a, const struct build_id *b);

#endif

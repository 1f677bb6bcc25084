/* SPDX-License-Identifier: MIT */
/*
 * elffile: an ELF file opened with libelf, and what all its readers need.
 *
 * The file is mapped, not read: of a debug file of hundreds of megabytes only a little is needed. If the file
 * is truncated meanwhile, the result is a SIGBUS, which is acceptable in the helper process that reads it
 * (symbolize/worker.h).
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
 * Open the file of @fd. The elffile takes @fd over; it is closed on failure. 0; -EINVAL: not a regular 64-bit
 * x86-64 ELF file; -EIO: libelf cannot read it.
 */
must_check int elffile_open(int fd, struct elffile *out);
void elffile_close(struct elffile *f);	/* may be called for one that is not open */

/* true for a 64-bit x86-64 program, shared object or debug file (dwz marks what it moves out as ET_REL). */
bool elffile_is_ours(Elf *elf);

/* The section @name if it has contents, with its header in @sh; or NULL. */
Elf_Scn *elffile_section(Elf *elf, const char *name, GElf_Shdr *sh);

void elffile_build_id(Elf *elf, struct build_id *out);
bool build_id_equal(const struct build_id *a, const struct build_id *b);

#endif

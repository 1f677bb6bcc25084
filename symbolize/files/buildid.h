/* SPDX-License-Identifier: MIT */
/*
 * buildid: the build id of an ELF file, as hexadecimal text.
 *
 * Only the program headers and notes are read, with limits on their size. So another user's file can be read
 * in the caller's own process, even if it changes meanwhile; and so can the part of a file that is mapped in
 * another process, or in a core.
 */
#ifndef MM_BUILDID_H
#define MM_BUILDID_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

#define BUILDID_TEXT (2 * 64 + 1)	/* longer ones are cut */

/* 0, "" if it has none; -EINVAL: no 64-bit x86-64 ELF file; -ENOMEM; -errno of reading. */
must_check int buildid_read(int fd, char text[BUILDID_TEXT]);

/* @n bytes, no less, from @offset of the file. -EINVAL: it has not as many. */
typedef int buildid_reader(void *ctx, void *buf, size_t n, uint64_t offset);

/* The same of a file that @read reads, whose header is @eh. */
must_check int buildid_by(buildid_reader *read, void *ctx, const Elf64_Ehdr *eh, char text[BUILDID_TEXT]);

#endif

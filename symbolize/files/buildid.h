/* SPDX-License-Identifier: MIT */
/*
 * buildid: the build id of an ELF file, as hexadecimal text.
 *
 * Only its program headers and notes are looked at, copied by pread and of bounded size: so a file of somebody
 * else can be asked in the caller's own process, whatever happens to it meanwhile.
 */
#ifndef MM_BUILDID_H
#define MM_BUILDID_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

#define BUILDID_TEXT (2 * 64 + 1)	/* longer ones are cut */

/* 0, "" if it has none; -EINVAL: no 64-bit x86-64 ELF file; -ENOMEM; -errno of reading. */
must_check int buildid_read(int fd, char text[BUILDID_TEXT]);

/* The same from the @n bytes of one PT_NOTE segment, aligned as @p_align says; "" if it is not among them. */
void buildid_in_notes(const void *notes, size_t n, uint64_t p_align, char text[BUILDID_TEXT]);

#endif

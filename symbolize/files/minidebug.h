/* SPDX-License-Identifier: MIT */
/*
 * minidebug: the small ELF file, compressed with xz, that some distributions leave in a stripped program
 * (.gnu_debugdata): a .symtab of its static functions.
 */
#ifndef MM_MINIDEBUG_H
#define MM_MINIDEBUG_H

#include <libelf.h>

#include "base/cleanup.h"

struct minidebug {
	Elf *elf;	/* NULL: there is none, or it is damaged */
	char *image;	/* the bytes that elf reads */
};

/* Unpack the one in @elf. 0 or -ENOMEM. */
must_check int minidebug_open(Elf *elf, struct minidebug *out);
void minidebug_close(struct minidebug *m);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * texts: a pool of strings, each kept once. What it gives stays where it is until the end, so two texts from
 * it are equal if the pointers are.
 */
#ifndef MM_TEXTS_H
#define MM_TEXTS_H

#include <stddef.h>

#include "base/addrmap.h"

struct texts {
	char **all;
	size_t n, size;
	size_t bytes;		/* of the strings */
	struct addrmap index;	/* hash, or a little more -> where in all */
};

void texts_init(struct texts *t);
void texts_fini(struct texts *t);

/* NULL for NULL, and on want of memory. */
const char *texts_keep(struct texts *t, const char *text);

size_t texts_memory(const struct texts *t);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * texts: a pool of strings, each stored once. Strings do not move until the end, so two strings of the pool
 * are equal if the pointers are.
 */
#ifndef MM_TEXTS_H
#define MM_TEXTS_H

#include <stddef.h>

#include "base/addrmap.h"

struct texts {
	char **all;
	size_t n, size;
	size_t bytes;		/* of the strings */
	struct addrmap index;	/* hash, or a little more -> index in all */
};

void texts_init(struct texts *t);
void texts_fini(struct texts *t);

/* NULL for NULL, and if memory is short. */
const char *texts_keep(struct texts *t, const char *text);

size_t texts_memory(const struct texts *t);

#endif

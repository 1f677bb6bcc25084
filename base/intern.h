/* SPDX-License-Identifier: MIT */
/*
 * intern: a pool of strings, each stored once. Strings do not move until the end, so two strings of the pool
 * are equal if the pointers are.
 */
#ifndef MM_INTERN_H
#define MM_INTERN_H

#include <stddef.h>

#include "base/addrmap.h"

struct intern {
	char **all;
	size_t n, size;
	size_t bytes;		/* of the strings */
	struct addrmap index;	/* hash, or a little more -> index in all */
};

void intern_init(struct intern *t);
void intern_fini(struct intern *t);

/* NULL for NULL, and if memory is short. */
const char *intern_text(struct intern *t, const char *text);

size_t intern_memory(const struct intern *t);

#endif

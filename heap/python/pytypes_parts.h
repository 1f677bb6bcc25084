/* SPDX-License-Identifier: MIT */
/* pytypes_parts: what the files of pytypes share: the beginning of a type object, the same in 3.9 to 3.13. */
#ifndef MM_PYTYPES_PARTS_H
#define MM_PYTYPES_PARTS_H

#include "heap/python/pytypes.h"

struct pytypes_head {
	uint64_t references;
	taddr type;
	uint64_t items;
	taddr name;			/* of a class of a script without its module */
	int64_t basic_size, item_size;
	uint64_t slots[15];
	uint64_t flags;
	uint64_t more[11];
	taddr dict;
};

_Static_assert(offsetof(struct pytypes_head, flags) == 168 && offsetof(struct pytypes_head, dict) == 264,
	       "CPython's own offsets");

#define PYTYPES_NAME 200

/* The text at @at, cut to @n bytes with its NUL. false: it is not known, or empty. */
bool pytypes_text(const struct pytypes *t, taddr at, char *out, size_t n);

/* The name of the type at @at, whatever can be found out of it. */
void pytypes_name(const struct pytypes *t, taddr at, const struct pytypes_head *head, char out[PYTYPES_NAME]);

#endif

/* SPDX-License-Identifier: MIT */
/* allocators: those whose blocks a census lists: a line for each in allocators.c. */
#ifndef MM_ALLOCATORS_H
#define MM_ALLOCATORS_H

#include "base/cleanup.h"
#include "heap/census.h"
#include "heap/snapshot/snapshot.h"

struct allocator {
	const char *name;	/* "jemalloc", as in attach/scan/scan_allocator.c */
	const char *text;	/* as a report calls it: "glibc's malloc" */
	/*
	 * Find the allocator in @s, and fill @c, which is empty (census_init) and knows nothing of `listed`.
	 * 0, also if it is corrupt (c->nproblems). -ENOENT: it is not there (c->problem may have the
	 * reason), or its layout is not known: then c->unread says so. -ENOMEM.
	 */
	int (*take)(const struct snapshot *s, struct census *c);
};

/* In the order of their arenas in a census; the last has no name. */
extern const struct allocator allocators[];

/* How a report calls the allocator with this name. */
const char *allocators_text(const char *name);

#endif

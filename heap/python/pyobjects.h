/* SPDX-License-Identifier: MIT */
/*
 * pyobjects: the objects of CPython in a process, by type: how many, how much memory, and which types refer to
 * them.
 *
 * Objects are blocks of pymalloc or, if they are large, of malloc. Other blocks belong to an object: a list's
 * items, a dict's table. Such a block counts with the first object that has a pointer to it, directly or
 * through other such blocks; blocks to which no object leads are `other`.
 *
 * Nothing here changes what is a root for verdicts: arenas are memory of the program as before.
 */
#ifndef MM_PYOBJECTS_H
#define MM_PYOBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/intern.h"
#include "base/taddr.h"
#include "heap/census.h"
#include "heap/python/python_version.h"
#include "heap/snapshot/snapshot.h"

#define PYOBJECTS_HOLDERS 3u

struct pyobjects_holder {
	const char *name;		/* a type; NULL: none */
	uint64_t pointers;		/* from its objects to the others */
};

struct pyobjects_type {
	const char *name;
	uint64_t objects, tracked;	/* tracked: by the collector: gc.get_objects() lists them */
	uint64_t bytes;			/* of their blocks, and of those that belong to them */
	struct census_sum with;		/* blocks that belong to them */
	taddr largest;			/* the object with most bytes, */
	uint64_t largest_bytes;
	struct pyobjects_holder holders[PYOBJECTS_HOLDERS];	/* with most pointers first */
};

struct pyobjects {
	bool there;			/* there is an interpreter */
	struct python_version version;
	char why_not[200];		/* its objects are not listed; "": they are */
	size_t arenas;
	uint64_t arena_bytes;		/* of pools that can be used */
	struct census_sum small;	/* pymalloc's blocks in use */
	uint64_t free_bytes, empty_bytes, unseen_bytes;	/* as in pymalloc.h */
	size_t differing;		/* pools and arenas that do not agree with their own figures */
	uint64_t objects, bytes;	/* of all types */
	struct census_sum large;	/* of them, the objects in blocks of malloc, and these blocks */
	struct census_sum idle;		/* freed objects whose memory the interpreter keeps for the next ones */
	struct census_sum other;	/* pymalloc's blocks that belong to no object */
	struct pyobjects_type *types;	/* most bytes first */
	size_t ntypes;
	struct intern pool;		/* has the names */
};

/* 0, whatever was found; -ENOMEM. pyobjects_fini in any case. */
must_check int pyobjects_take(const struct snapshot *s, const struct census *c, struct pyobjects *out);
void pyobjects_fini(struct pyobjects *p);

#endif

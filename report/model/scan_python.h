/* SPDX-License-Identifier: MIT */
/*
 * scan_python: the objects of CPython that a scan found, by type, as plain data. They have no verdicts.
 * Strings live in the summary's pool.
 */
#ifndef MM_SCAN_PYTHON_H
#define MM_SCAN_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/taddr.h"
#include "report/model/summary.h"

#define SCAN_PYTHON_HOLDERS 3u

struct scan_python_holder {
	const char *type;		/* NULL: none */
	uint64_t pointers;		/* to objects of the type that is held, from objects of this one */
};

struct scan_python_type {
	const char *name;
	uint64_t objects, tracked;	/* tracked: in gc.get_objects() */
	uint64_t bytes;			/* with those of the blocks that belong to them */
	struct summary_sum with;	/* blocks that belong to them: items, tables */
	taddr largest;			/* the object with most bytes */
	uint64_t largest_bytes;
	struct scan_python_holder holders[SCAN_PYTHON_HOLDERS];	/* with most pointers first */
};

struct scan_python {
	const char *version;		/* "3.11.2"; NULL: there is no CPython */
	const char *why_not;		/* its objects are not listed; NULL: they are */
	uint64_t objects, bytes;
	uint64_t arenas, arena_bytes;
	struct summary_sum small;	/* blocks in use in arenas */
	uint64_t free_bytes, empty_bytes, unseen_bytes;
	uint64_t differing;		/* pools and arenas that do not agree with their own figures */
	struct summary_sum large;	/* objects in blocks of malloc */
	struct summary_sum idle;	/* freed, kept for the next object of the type */
	struct summary_sum other;	/* blocks in arenas that belong to no object */
	struct scan_python_type *types;	/* most bytes first */
	size_t ntypes;
};

#endif

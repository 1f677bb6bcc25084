/* SPDX-License-Identifier: MIT */
/*
 * memories: how much memory a process had, as the kernel says it, in time (MMT_MEMORY): the process that is watched, and its children.
 *
 * Of each process a few points are kept: the first, and the last of each span of time, which become longer as time goes by. So points that come again (at the head
 * of a later piece of a trace, from a shrunken one) change nothing.
 */
#ifndef MM_MEMORIES_H
#define MM_MEMORIES_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "trace/fact.h"

#define MEMORY_POINTS 64u
#define MEMORY_CHILDREN 64u	/* that a watch looks at, at a time */
#define MEMORY_PROCESSES 4096u	/* later ones are left out */

struct memory_process {
	int32_t pid;
	const char *name;		/* the caller's to keep; of the last point */
	struct memory_point points[MEMORY_POINTS];	/* in order of time */
	uint32_t npoints;		/* one at least */
};

struct memories {
	struct memory_process *all;	/* in the order in which they were first seen */
	size_t n;
	const char *runtime;		/* MMT_RUNTIME: the caller's; NULL: none is known */
};

/* @name stays the caller's. 0 or -ENOMEM. */
must_check int memories_add(struct memories *m, int32_t pid, const char *name, const struct memory_point *point);
void memories_fini(struct memories *m);

/* NULL: nothing is known of it. */
const struct memory_process *memories_of(const struct memories *m, int32_t pid);

#endif

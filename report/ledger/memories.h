/* SPDX-License-Identifier: MIT */
/*
 * memories: the memory of a process over time, as the kernel reports it (MMT_MEMORY): the watched process,
 * and its children.
 *
 * A few points of each process are kept: the first, and the last of each span of time. Spans become longer as
 * time goes by. So points that are repeated (at the head of a later piece of a trace, or in a shrunken one)
 * change nothing.
 */
#ifndef MM_MEMORIES_H
#define MM_MEMORIES_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "trace/fact.h"

#define MEMORY_POINTS 64u
#define MEMORY_CHILDREN 64u	/* that a watch looks at at the same time */
#define MEMORY_PROCESSES 4096u	/* later ones are left out */

struct memory_process {
	int32_t pid;
	const char *name;		/* of the last point; owned by the caller */
	struct memory_point points[MEMORY_POINTS];	/* in order of time */
	uint32_t npoints;		/* at least one */
};

struct memories {
	struct memory_process *all;	/* in the order in which they were first seen */
	size_t n;
	const char *runtime;		/* MMT_RUNTIME: owned by the caller; NULL: none is known */
};

/* @name stays the caller's. 0 or -ENOMEM. */
must_check int memories_add(struct memories *m, int32_t pid, const char *name,
			    const struct memory_point *point);
void memories_fini(struct memories *m);

/* NULL: nothing is known of this process. */
const struct memory_process *memories_of(const struct memories *m, int32_t pid);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * threads: the table of all tracees, found by tid, and the short list of those that hit a trap lately.
 *
 * Of fixed size, allocated and touched once: the keeper allocates nothing after its start. An untraced thread
 * that runs into a trap dies: so if there is no space for a thread, the keeper must leave.
 */
#ifndef MM_THREADS_H
#define MM_THREADS_H

#include <stdint.h>

#include "attach/keeper/shared/shared.h"
#include "attach/keeper/tracee.h"

#define THREADS_MAX SHARED_THREADS
#define THREADS_HASH (4 * THREADS_MAX)
#define ACTIVE_MAX 128
#define ACTIVE_NS 5000000	/* a thread that has not hit for so long is not active */

struct threads {
	uint32_t used;			/* tracees that are not FREE; */
	uint32_t hitting;		/* of these: that have ever hit a trap */
	uint32_t bound;			/* all tracees at and above it are FREE */
	uint32_t next_free;		/* where to start looking for a free one */
	uint32_t nactive;
	uint32_t active[ACTIVE_MAX];
	uint32_t slots[THREADS_HASH];	/* open addressing: index + 1, 0 empty */
	struct tracee all[THREADS_MAX];
};

struct tracee *threads_find(struct threads *ts, pid_t tid);	/* or NULL */
/* RUNNING; NULL if the table is full; the same if known */
struct tracee *threads_add(struct threads *ts, pid_t tid);
void threads_remove(struct threads *ts, struct tracee *t);

/* @t hit a trap now. */
void threads_mark_active(struct threads *ts, struct tracee *t, uint64_t now_ns);
/*
 * The next active thread from *@i on, or NULL; those that have not hit for ACTIVE_NS are removed on the way.
 */
struct tracee *threads_active(struct threads *ts, uint32_t *i, uint64_t now_ns);

/* The first that is not FREE from index @i of the table on, or NULL. */
struct tracee *threads_from(struct threads *ts, uint32_t i);

/*
 * for (t = threads_first(ts); t; t = threads_next(ts, t)): all that are not FREE; @t may be removed
 * meanwhile.
 */
struct tracee *threads_first(struct threads *ts);
struct tracee *threads_next(struct threads *ts, const struct tracee *t);

#endif

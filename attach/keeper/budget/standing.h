/* SPDX-License-Identifier: MIT */
/*
 * standing: what a stop takes besides our own work, learned from the target's threads while they are watched. Pure.
 *
 * What a child of ours shows at the start (latency.h) is what it was in a twentieth of a second, of a small program: for the same target it comes out twice as much one time
 * as another, and a stop of a thread that is busy with other things takes longer. The kernel knows better. Of a thread that had one turn on a processor from when it went on until it stopped again:
 *
 *	   goes on                             int3        we are awake
 *	      |── still ──|───── its turn ──────|── still ──|		still = wall - ran - waited
 *
 * What the kernel does for a stop in the thread's own turn cannot be told from what the thread does there: it is taken to grow as the rest does, as far as it is no more than the rest.
 * Only short turns can be compared. Threads that have none (they sleep between any two stops) tell nothing; then it is as the child has shown. It is never said to be less: after
 * longer turns stops take longer.
 */
#ifndef MM_STANDING_H
#define MM_STANDING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/keeper/budget/latency.h"
#include "attach/keeper/procfs.h"

struct standing {
	struct latency shown;		/* by the child */
	uint64_t mean_ns;		/* still, of the last dozens; the child's at first */
	uint32_t n;			/* of these */
	uint32_t passed;		/* stops since one was chosen */
	pid_t tid;			/* the one that was; 0: none */
	uint64_t on_ns;			/* when it went on; 0: it has not */
	struct procfs_turns before;	/* as it stopped */
};

void standing_begin(struct standing *s, const struct latency *shown);

/* Of each hit: do @tid's turns matter, as it was chosen, or is to be? */
bool standing_wants(struct standing *s, pid_t tid);

/* They are @turns. We would have been awake at @seen_ns, had we had a processor at once; 0: that cannot be told. @now is what is to be charged from now on. */
void standing_stopped(struct standing *s, pid_t tid, const struct procfs_turns *turns, uint64_t seen_ns, struct latency *now);

/* It that has stopped last goes on. */
void standing_goes_on(struct standing *s, pid_t tid, uint64_t at_ns);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * stop_cost_learn: what a stop takes besides our own work, learned from the target's threads while they are
 * watched. Pure.
 *
 * What our child shows at the start (stop_cost_calibrate.h) holds for a twentieth of a second, of a small
 * program: for the same target the result may be twice as high one time as another, and a stop of a thread
 * that is busy with other things takes longer. The kernel knows better. Take a thread that had one slice of a
 * processor from when it resumed until it stopped again:
 *
 *	   resumes                             int3        we are awake
 *	      |── still ──|───── its slice ─────|── still ──|		still = wall - ran - waited
 *
 * What the kernel does for a stop within the thread's slice cannot be separated from what the thread does there:
 * it is assumed to grow in proportion to `still`, but by no more than `still` does. Only short slices can be
 * compared. From threads without short slices (they sleep between any two stops) nothing is learned; then the
 * child's figures hold. The cost is never assumed to be less than these: after longer slices stops take
 * longer.
 */
#ifndef MM_STOP_COST_LEARN_H
#define MM_STOP_COST_LEARN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/keeper/budget/stop_cost_calibrate.h"
#include "attach/keeper/procfs.h"

struct stop_cost_learn {
	struct stop_cost calibrated;	/* as measured on the child */
	uint64_t mean_ns;		/* of `still`, over the last dozens; the child's at first */
	uint32_t n;			/* of these */
	uint32_t skipped;		/* stops since a thread was chosen last */
	pid_t tid;			/* the chosen thread; 0: none */
	uint64_t on_ns;			/* when it resumed; 0: it has not */
	struct procfs_slices before;	/* its slices when it stopped */
};

void stop_cost_learn_begin(struct stop_cost_learn *s, const struct stop_cost *calibrated);

/* Called at each hit: are @tid's slices needed, because it was chosen or is about to be? */
bool stop_cost_learn_wants(struct stop_cost_learn *s, pid_t tid);

/*
 * @tid, for which stop_cost_learn_wants() was true, has stopped; its slices are @slices. With a processor at
 * once, we would have been awake at @seen_ns; 0: not known. @now: what is to be charged from now on.
 */
void stop_cost_learn_stopped(struct stop_cost_learn *s, pid_t tid, const struct procfs_slices *slices,
			     uint64_t seen_ns, struct stop_cost *now);

/* @tid, the thread that stopped last, resumes. */
void stop_cost_learn_resumed(struct stop_cost_learn *s, pid_t tid, uint64_t at_ns);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * placement: the processor that the keeper runs on, and whether it may look again before it sleeps
 * (wait_stops.c, spin).
 *
 * A hit is two switches, from the thread to the keeper and back. On one processor each is a context switch;
 * between two, each wakes an idle processor, which in a virtual machine takes ten times as long, unless the
 * keeper does not sleep. A malloc+free pair, in microseconds, one hot thread (bench, pair1cpu):
 *
 *	both on one processor, the keeper sleeps between hits	 31
 *	the same, it spins	33, then 90 for minutes: the thread cannot run meanwhile
 *	on two, it spins	 46 to 76, and a whole processor
 *	on two, it sleeps	100 to 130
 *
 * Where the thread runs is decided by the target and the kernel, and is never changed. So the keeper can only
 * go to where the threads are, and check whether they stay:
 *
 *	FREE	the kernel places the keeper. It spins, but never on the
 *		processor on which all threads that hit lately ran last
 *	NEAR	its affinity is that processor. It never spins
 *
 * Which is cheaper is measured, since it depends on how many threads hit, what else runs, cpusets and quotas:
 * a trial counts the stops of FREE, NEAR, NEAR, FREE, some tens of milliseconds each. A gap without stops (a
 * target that waits, a quota used up) counts for neither. NEAR ends at once when the threads run elsewhere,
 * as when the kernel moves them to an idle processor. Trials are repeated, less and less often while their
 * result stays the same.
 *
 * Cost: /proc/TID/stat of four threads at most, every 20 ms in which there were enough stops for that to be
 * small.
 */
#ifndef MM_PLACEMENT_H
#define MM_PLACEMENT_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include "attach/keeper/threads.h"

#define PLACEMENT_STEPS 4	/* of a trial */

/* What was counted in FREE or in NEAR. */
struct placement_rate {
	uint64_t stops, busy_ns;
};

struct placement {
	bool off;			/* one processor: nothing to try */
	cpu_set_t own;			/* processors that the keeper may run on when it is FREE */
	int near;			/* the processor that the keeper is bound to; -1: FREE */
	/* all threads that hit lately ran last here; -1: on several, or not known */
	int threads_cpu;
	uint64_t look_ns;		/* when to check next where threads run */
	uint64_t look_stops;		/* stops at the last check */
	uint64_t last_ns, last_stops;	/* of the last round */
	uint64_t trial_ns, every_ns;	/* when the next trial begins; the time between two */
	unsigned int step;		/* step of the trial, from 1; 0: there is none */
	bool was_near;			/* was NEAR before the trial */
	int trial_cpu;			/* the processor of NEAR in the trial */
	uint64_t step_began_ns;
	struct placement_rate now;	/* of the present step */
	struct placement_rate rate[2];	/* of the trial: FREE, NEAR */
};

void placement_init(struct placement *p, uint64_t now_ns);

/* After each round of the keeper; @stops: the number of stops so far. */
void placement_round(struct placement *p, struct threads *ts, uint64_t now_ns, uint64_t stops);

/* May the keeper ask the threads again before it sleeps? */
bool placement_may_spin(const struct placement *p);

/* --- for tests: one decision each, without a system call --- */

/*
 * Is @near so much cheaper than @free that the keeper should go there, or stay there? @is_near: it is there.
 */
bool placement_prefers_near(const struct placement_rate *free, const struct placement_rate *near,
			    bool is_near);

/* The last round was @since_ns ago: does that time count for a trial, or was it a gap without stops? */
bool placement_counts(uint64_t since_ns);

#endif

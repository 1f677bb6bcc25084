/* SPDX-License-Identifier: MIT */
/*
 * stop_cost_calibrate: what a stop takes besides our own work, measured on a child of ours before there is a
 * target.
 *
 * A thread is stopped from its int3 on, but the keeper is awake only some microseconds later (in a virtual
 * machine, dozens); and when the thread is resumed, it runs only when its processor has switched back to it.
 * The keeper can observe neither moment; a child can record the times at its end. The measurement keeps a
 * processor busy for some 60 ms.
 */
#ifndef MM_STOP_COST_CALIBRATE_H
#define MM_STOP_COST_CALIBRATE_H

#include <stdint.h>

struct stop_cost {
	uint64_t wake_ns;	/* from a thread's int3 until a keeper that slept knows its status */
	uint64_t restart_ns;	/* from its PTRACE_CONT until it runs */
	uint64_t still_ns;	/* of these two, what is not CPU time of the thread */
	uint64_t cpu_ns;	/* what is, at least */
};

/*
 * Means of some dozen stops, measured within 0.2 s; guesses if that is not possible. SIGCHLD must be blocked.
 */
void stop_cost_calibrate(struct stop_cost *l);

#endif

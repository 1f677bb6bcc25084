/* SPDX-License-Identifier: MIT */
/*
 * quiet_clock: two clocks that run in quiet time, while no thread of the target is stopped because of us.
 * Pure.
 *
 *	quiet	wall-clock time
 *	work	CPU time that all threads of the target have used, less what stopping and resuming take of it
 *
 * How often a hot site is hit is measured in quiet time only: a thread that is stopped for 20 us at each hit
 * hits less often than it otherwise would. So the hit that ends a quiet time counts, and hits of other
 * threads until the next quiet time do not. If processors are scarce, a thread that was stopped has lost its
 * processor, and waits for another one: then only `work` shows how much it has done.
 */
#ifndef MM_QUIET_CLOCK_H
#define MM_QUIET_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct quiet_clock {
	uint64_t sum_ns;	/* up to since_ns */
	uint64_t since_ns;	/* when the quiet time began, or, if it is over, ended */
	bool on;
	pid_t last;		/* the thread that resumed last, which began it */
	uint64_t work_ns;	/* up to since_cpu_ns */
	uint64_t since_cpu_ns;	/* CPU time of the target when it began; 0: not known */
	uint64_t stops;		/* that have ended a quiet time so far */
	/* CPU time of the target per stop: half before it, half when resuming */
	uint32_t stop_cpu_ns;
};

/* A moment, by both clocks. */
struct quiet_time {
	uint64_t ns, cpu_ns;
};

/* Thread @tid has stopped at @at. Was it quiet then? */
bool quiet_clock_end(struct quiet_clock *c, pid_t tid, struct quiet_time at);

/* The last stopped thread, @tid, resumes at @at (which may be slightly in the future). */
void quiet_clock_begin(struct quiet_clock *c, pid_t tid, struct quiet_time at);

/* What the clocks show. */
uint64_t quiet_clock_ns(const struct quiet_clock *c, uint64_t now_ns);
uint64_t quiet_clock_work_ns(const struct quiet_clock *c, uint64_t cpu_ns);

#endif

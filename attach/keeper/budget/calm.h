/* SPDX-License-Identifier: MIT */
/*
 * calm: two clocks that go while no thread of the target stands stopped because of us. Pure.
 *
 *	calm	the time
 *	work	the processor's time that the target has used, all threads together, less what stopping and going on take of it
 *
 * How often a hot site is hit is told by what happens in the calm alone: a thread that is stopped for 20 us
 * at each hit hits less often than it would. So the hit that ends a calm counts, and what others do until the next does not. And where processors are
 * scarce, a thread that has stood has lost its own, and waits for the next: then only work tells how far it has come.
 */
#ifndef MM_CALM_H
#define MM_CALM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct calm {
	uint64_t sum_ns;	/* up to since_ns */
	uint64_t since_ns;	/* when it began, or, if it is over, ended */
	bool on;
	pid_t last;		/* whose going on has made it calm */
	uint64_t work_ns;	/* up to since_cpu_ns */
	uint64_t since_cpu_ns;	/* processor's time of the target when it began; 0: not known */
	uint64_t stops;		/* that have ended it, so far */
	uint32_t stop_cpu_ns;	/* what one stop takes of the target's own time; half of it before it stands, half when it goes on */
};

/* A moment by both. */
struct calm_time {
	uint64_t ns, cpu_ns;
};

/* Thread @tid has stopped at @at. Was it in the calm? */
bool calm_end(struct calm *c, pid_t tid, struct calm_time at);

/* The last that stood, @tid, goes on at @at (which may be a moment from now). */
void calm_begin(struct calm *c, pid_t tid, struct calm_time at);

/* What the clocks show. */
uint64_t calm_ns(const struct calm *c, uint64_t now_ns);
uint64_t calm_work_ns(const struct calm *c, uint64_t cpu_ns);

#endif

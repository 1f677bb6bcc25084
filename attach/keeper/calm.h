/* SPDX-License-Identifier: MIT */
/*
 * calm: a clock that goes while no thread of the target stands stopped because of us. Pure.
 *
 * How often a site is hit is told by what happens in that time alone: a thread that is stopped for 20 us
 * at each hit hits less often than it would. So the hit that ends a calm counts, and what others do until the next does not.
 * When a stop began is known to some microseconds: sites that are hit more often than some ten thousand times a second look slower than they are.
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
};

/* Thread @tid has stopped at @at_ns. Was it in the calm? */
bool calm_end(struct calm *c, pid_t tid, uint64_t at_ns);

/* The last that stood, @tid, goes on at @at_ns (which may be a moment from now). */
void calm_begin(struct calm *c, pid_t tid, uint64_t at_ns);

/* What the clock shows. */
uint64_t calm_ns(const struct calm *c, uint64_t now_ns);

#endif

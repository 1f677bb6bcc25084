/* SPDX-License-Identifier: MIT */
/*
 * stall_timer: a timeout that counts only the time in which we were running. The clock also counts time in
 * which everything was stopped, as when a virtual machine or a group of processes is frozen; but then the
 * awaited thread or process could not do anything either. So if the timer is looked at late, no more than
 * STALL_TIMER_LOOK_NS is counted. Pure.
 */
#ifndef MM_STALL_TIMER_H
#define MM_STALL_TIMER_H

#include <stdint.h>

#define STALL_TIMER_LOOK_NS 600000000ull	/* a waiting loop looks more often */

struct stall_timer {
	uint64_t looked_ns, waited_ns;
};

static inline struct stall_timer stall_timer_begin(uint64_t now_ns)
{
	return (struct stall_timer){ .looked_ns = now_ns };
}

/* How long we have waited until now. */
static inline uint64_t stall_timer_look(struct stall_timer *p, uint64_t now_ns)
{
	uint64_t since = now_ns - p->looked_ns;

	p->waited_ns += since < STALL_TIMER_LOOK_NS ? since : STALL_TIMER_LOOK_NS;
	p->looked_ns = now_ns;
	return p->waited_ns;
}

#endif

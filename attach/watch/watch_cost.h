/* SPDX-License-Identifier: MIT */
/*
 * watch_cost: a watch that slows a thread much says so while it goes on, once, and names what costs less: after
 * the watch it is too late.
 */
#ifndef MM_WATCH_COST_H
#define MM_WATCH_COST_H

#include <stdbool.h>
#include <stdint.h>

struct watch;

struct watch_cost {
	bool limited;		/* a budget, or a sample by bytes, was asked for: no warning */
	bool no_auto;		/* --engine auto is what came to ptrace, or would */
	bool no_other;		/* it could not be by the other engine */
	bool under_gdb;
	bool said;
	uint32_t gone;		/* the thread that was slowed most, if it has ended while others went on; or 0 */
};

/* Called every second, after the first ones, and at the end: has that thread ended? */
void watch_cost_see(struct watch *w);

/* The end, before @now_ns, of the time that it was slowed in. */
uint64_t watch_cost_until(const struct watch *w, uint64_t now_ns);

/* Called every second, after the first ones. */
void watch_cost_look(struct watch *w, uint64_t now_ns);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * pace: what a stretch is worth, in which a trap stood: for how long the target goes on undisturbed until it has come as far. Pure.
 *
 *	a clock drives the place	(a timer, a client's requests) being stopped for 50 us changes nothing: what was due is done
 *					afterwards. Then it is the time by the clock
 *	processors do			(a loop) all that is stopped, and waits for a processor because it was stopped, comes no farther.
 *					Then it is the work that was done (calm.h), at the pace of the last seconds
 *
 * Which it is cannot be told, but matters only where stops come in quick succession: where the quota of a place is reached within milliseconds. There
 * processors drive it, at least as long as it is hot. Anywhere else both are the same but for the percent that the budget allows.
 *
 * Where of the processor's time two thirds were that of the stops themselves, work is not known well enough: then it is the time
 * in which nobody stood.
 */
#ifndef MM_PACE_H
#define MM_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define PACE_MARKS 4
#define PACE_HOT_NS 5000000ull	/* from one hit to the next, on average: below, stops matter (report/sampling/estimate.c goes by the same) */

struct pace_mark {
	uint64_t calm_ns, work_ns;
};

struct pace {
	uint64_t next_ns;
	uint32_t n;			/* marks so far */
	struct pace_mark marks[PACE_MARKS];	/* a second apart */
};

struct stretch {
	uint64_t wall_ns, calm_ns, work_ns, stops_cpu_ns;
	uint32_t hits, calm_hits;	/* all; those that ended a calm */
	bool full;			/* ended by the quota */
	bool hot;			/* the one before was over within milliseconds */
};

/* Is it time for a mark? */
bool pace_due(const struct pace *p, uint64_t now_ns);
void pace_note(struct pace *p, uint64_t now_ns, struct pace_mark mark);

/* As much as can be worked in @calm_ns. */
uint64_t pace_most(const struct pace *p, struct pace_mark now, uint64_t calm_ns);

/* Of @s what it was worth; @hits: those that are to be counted. */
uint64_t pace_worth(const struct pace *p, const struct stretch *s, struct pace_mark now, uint32_t *hits);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * pace: the exposure of an interval in which a trap was planted: the time in which the target comes as far
 * undisturbed. Pure.
 *
 *	driven by a clock	(a timer, a client's requests) being stopped for 50 us changes nothing: what
 *				was due is done afterwards. Then exposure is wall-clock time
 *	driven by processors	(a loop) a thread that is stopped, or waits for a processor because it was
 *				stopped, does not proceed. Then exposure is the CPU time used (calm.h), at the
 *				pace of the last seconds
 *
 * Which of the two a site is cannot be known, but it matters only if stops follow each other quickly: if the
 * quota is reached within milliseconds. Such a site is driven by processors, at least as long as it is hot.
 * At any other site both are the same, except for the percent that the budget allows.
 *
 * If two thirds of the CPU time were that of the stops themselves, the rest is not known well enough: then
 * exposure is the quiet time.
 */
#ifndef MM_PACE_H
#define MM_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define PACE_MARKS 4
/* mean time between hits below which stops matter (report/sampling/estimate.c uses the same) */
#define PACE_HOT_NS 5000000ull

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
	uint32_t hits, calm_hits;	/* all; those that ended a quiet time */
	bool full;			/* ended by the quota */
	bool hot;			/* the interval before was over within milliseconds */
};

/* Is it time for a mark? */
bool pace_due(const struct pace *p, uint64_t now_ns);
void pace_note(struct pace *p, uint64_t now_ns, struct pace_mark mark);

/* The most CPU time that can have been used in @calm_ns of quiet time. */
uint64_t pace_most(const struct pace *p, struct pace_mark now, uint64_t calm_ns);

/* The exposure of @s, in ns. @hits: the hits that are to be counted. */
uint64_t pace_worth(const struct pace *p, const struct stretch *s, struct pace_mark now, uint32_t *hits);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * exposure: how long a trap was planted, by the clocks of a target that is not disturbed: the time that such
 * a target would need to get as far as this one has got while the trap was planted. Pure.
 *
 *	driven by a clock	(a timer, a client's requests) being stopped for 50 us changes nothing: what
 *				was due is done afterwards. Then exposure is wall-clock time
 *	driven by processors	(a loop) a thread that is stopped, or waits for a processor because it was
 *				stopped, does not proceed. Then exposure is the CPU time used (work,
 *				quiet_clock.h), converted to quiet time at the rate of the last seconds
 *
 * Which of the two a site is cannot be known, but it matters only if stops follow each other quickly: if the
 * quota is reached within milliseconds. Such a site is driven by processors, at least as long as it is hot.
 * At any other site both are the same, except for the percent that the budget allows.
 *
 * If the stops themselves took more than two thirds of the CPU time, the rest is not known well enough: then
 * exposure is what half the CPU time of the stops would take, for it is no more; and in any case no more than
 * the quiet time. (On a busy machine the thread waits for a processor after each stop. When all the quiet time
 * counted, 1 % of the calls of a site in redis seemed to be seen where it was one in 20,000; its blocks, which
 * begin alike, seemed to stay live, and a leak was reported.)
 */
#ifndef MM_EXPOSURE_H
#define MM_EXPOSURE_H

#include <stdbool.h>
#include <stdint.h>

#define EXPOSURE_MARKS 4
/* mean time between hits below which stops matter (report/sampling/estimate.c uses the same) */
#define EXPOSURE_HOT_NS 5000000ull

/* What both clocks showed at one moment (quiet_clock.h). */
struct exposure_mark {
	uint64_t quiet_ns, work_ns;
};

struct exposure {
	uint64_t next_ns;
	uint32_t n;			/* marks so far */
	struct exposure_mark marks[EXPOSURE_MARKS];	/* a second apart */
};

struct exposure_span {
	uint64_t wall_ns, quiet_ns, work_ns, stops_cpu_ns;
	uint32_t hits, quiet_hits;	/* all; those that ended a quiet time */
	bool full;			/* ended by the quota */
	bool hot;			/* the interval before was over within milliseconds */
};

/* Is it time for a mark? */
bool exposure_due(const struct exposure *p, uint64_t now_ns);
void exposure_add_mark(struct exposure *p, uint64_t now_ns, struct exposure_mark mark);

/* The most CPU time that can have been used in @quiet_ns of quiet time. */
uint64_t exposure_max_work(const struct exposure *p, struct exposure_mark now, uint64_t quiet_ns);

/* The exposure of @s, in ns. *@hits: how many of its hits are to be counted. */
uint64_t exposure_of_span(const struct exposure *p, const struct exposure_span *s, struct exposure_mark now,
			  uint32_t *hits);

#endif

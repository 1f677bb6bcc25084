/* SPDX-License-Identifier: MIT */
/*
 * sampling_rounds: how much of the budget each site gets, decided anew every second from what became of its
 * blocks.
 *
 *	at first	4 hits a round of a second: if calls are fewer, every one is seen
 *	settled		no tracked block is older than three seconds, eight more were freed: rounds of twice
 *			the length, up to a minute
 *	candidate	three blocks of one stack are older, and nothing says that such blocks are freed:
 *			every call, within the part of the budget that is for all candidates. A candidate that
 *			needs less than an equal share leaves the rest to the others. Not a site so hot
 *			that no conclusion about it can follow: it has rounds as at first
 *	in bunches	the same share, but in longer rounds with a larger quota: what of a bunch is not seen
 *			makes the estimate too low (report/sampling/estimate.h)
 *
 * What a candidate needs is measured over the last ten seconds or more, and at least four exposure intervals:
 * it may have been idle before. Candidates get the unused budget, if they need it, step by step.
 *
 * These are requests to the keeper. If the quota ended a round, the next one begins no sooner than the budget
 * has paid for it (keeper/budget/round_queue.h): if many sites are hot, their rounds are longer. Candidates
 * have priority over that.
 */
#ifndef MM_SAMPLING_ROUNDS_H
#define MM_SAMPLING_ROUNDS_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/sampling/sampling_sites.h"
#include "attach/sampling/sampling_stacks.h"

/* What the stops have cost the target. */
struct sampling_costs {
	uint64_t now_ns;
	uint64_t spent_ns;		/* until now */
	uint64_t stop_ns;		/* for a hit, recently; 0: not known */
};

struct sampling_rounds {
	uint32_t budget_ppm;
	uint32_t decided;		/* number of decisions */
	double part; /* the part of what the keeper aims to spend that is for all candidates together */
	bool wanted;			/* some need more than they get; */
	uint32_t bunched;		/* of these: sites whose hits come in bunches */
	struct sampling_costs then;	/* when `part` was set last */
	uint64_t stop_ns;		/* what a hit costs, as far as is known */
	uint32_t candidates, settled;	/* sites */
};

void sampling_rounds_init(struct sampling_rounds *r, uint32_t budget_ppm);

/* Set quota and period of each site. To be called once a second, after sampling_stacks_survey. */
void sampling_rounds_decide(struct sampling_rounds *r, struct sampling_sites *sites,
			    const struct sampling_stacks *stacks, const struct sampling_costs *costs);

#endif

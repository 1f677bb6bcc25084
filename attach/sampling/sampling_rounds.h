/* SPDX-License-Identifier: MIT */
/*
 * sampling_rounds: how much of the budget each site gets, decided anew every second from what its blocks have done.
 *
 *	at first	4 hits a round of a second: what is called less often is seen every time
 *	settled		no followed block is older than three seconds, eight more have gone: a round twice as long, up to a minute
 *	candidate	three blocks of one stack are older, and nothing says that such ones go: every call, as far as the part of the budget
 *			reaches that is for all candidates. Who needs less than an equal share leaves the rest to the others
 *	in bunches	the same share, but in longer rounds, that let through more at once: what is told is too low by what of a bunch is not seen
 *			(report/sampling/estimate.h)
 *
 * What a candidate needs is told by the last ten seconds or more, four stretches at least: it may have been idle before. What the others leave of the budget
 * becomes the candidates', if they want it, step by step.
 *
 * These are wishes. A round that was over by its quota is followed by the next no sooner than that is paid for (keeper/budget/turns.h): where many sites are hot,
 * their rounds are longer. Candidates go ahead of that.
 */
#ifndef MM_SAMPLING_ROUNDS_H
#define MM_SAMPLING_ROUNDS_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/sampling/sampling_sites.h"
#include "attach/sampling/sampling_stacks.h"

/* What the target has paid. */
struct sampling_costs {
	uint64_t now_ns;
	uint64_t spent_ns;		/* until now */
	uint64_t stop_ns;		/* for a hit, of late; 0: not known */
};

struct sampling_rounds {
	uint32_t budget_ppm;
	uint32_t decided;		/* so often */
	double part;			/* of what the keeper aims at, for all candidates together */
	bool wanted;			/* some need more than they get; */
	uint32_t bunched;		/* of these: sites that come in bunches */
	struct sampling_costs then;	/* when that was looked at last */
	uint64_t stop_ns;		/* what a hit costs, as far as is known */
	uint32_t candidates, settled;	/* sites */
};

void sampling_rounds_init(struct sampling_rounds *r, uint32_t budget_ppm);

/* The blocks were surveyed: set the meters. Once a second. */
void sampling_rounds_decide(struct sampling_rounds *r, struct sampling_sites *sites, const struct sampling_stacks *stacks, const struct sampling_costs *costs);

#endif

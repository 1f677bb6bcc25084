/* SPDX-License-Identifier: MIT */
/*
 * sampling_rounds: how much of the budget each site gets, decided anew every second from what its blocks have done.
 *
 *	at first	4 hits a round of a second: what is called less often is seen every time
 *	settled		no followed block is older than three seconds, eight more have gone: a round twice as long, up to a minute
 *	candidate	three blocks of one stack are older, and nothing says that such ones go: every call, as far as the part of the budget
 *			reaches that is for all candidates, an equal share for each
 *
 * Where many sites are hot, their rounds are longer from the start, so that they keep to their part of the budget, too.
 */
#ifndef MM_SAMPLING_ROUNDS_H
#define MM_SAMPLING_ROUNDS_H

#include <stdint.h>

#include "attach/sampling_sites.h"
#include "attach/sampling_stacks.h"

struct sampling_rounds {
	uint32_t budget_ppm;
	uint64_t stop_ns;		/* what a hit costs, as far as is known */
	uint32_t period_ms;		/* of a site that nothing is known of yet */
	uint32_t candidates, settled;	/* sites */
};

void sampling_rounds_init(struct sampling_rounds *r, uint32_t budget_ppm);

/* The blocks were surveyed: set the meters. @spent_ns, @records: until now, of all. */
void sampling_rounds_decide(struct sampling_rounds *r, struct sampling_sites *sites, const struct sampling_stacks *stacks, uint64_t spent_ns,
			    uint64_t records);

#endif

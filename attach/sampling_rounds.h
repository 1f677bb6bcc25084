/* SPDX-License-Identifier: MIT */
/*
 * sampling_rounds: how much of the budget each site gets, decided anew every second from what its blocks have done.
 *
 *	at first	4 hits a round of a second: what is called less often is seen every time
 *	settled		no followed block is older than three seconds, eight more have gone: a round twice as long, up to a minute
 *	candidate	three blocks of one stack are older, and nothing says that such ones go: every call, as far as the part of the budget
 *			reaches that is for all candidates, an equal share for each
 *
 * These are wishes. A round that was over by its quota is followed by the next no sooner than that is paid for (keeper/turns.h): where many sites are hot,
 * their rounds are longer. Candidates go ahead of that.
 */
#ifndef MM_SAMPLING_ROUNDS_H
#define MM_SAMPLING_ROUNDS_H

#include <stdint.h>

#include "attach/sampling_sites.h"
#include "attach/sampling_stacks.h"

struct sampling_rounds {
	uint32_t budget_ppm;
	uint64_t stop_ns;		/* what a hit costs, as far as is known */
	uint32_t candidates, settled;	/* sites */
};

void sampling_rounds_init(struct sampling_rounds *r, uint32_t budget_ppm);

/* The blocks were surveyed: set the meters. @stop_ns: what a hit costs, of late; 0: not known. */
void sampling_rounds_decide(struct sampling_rounds *r, struct sampling_sites *sites, const struct sampling_stacks *stacks, uint64_t stop_ns);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * watched: a sampled watch of a simulated process: the keeper's budget and rounds, and the sampler, both as
 * they are in mmattach; only the process, its allocator and the time are simulated.
 *
 *	spots ──▶ the next allocation at a planted trap ──▶ a stop: wake, serve, resume ──▶ budget ──▶ sampling_hit
 *	heap ◀── looks at tracked blocks ◀── sampling_poll, as time passes
 *
 * What a stop takes is drawn, some 30 us; on a busy machine the keeper now and then waits a millisecond for a
 * processor. The simulation knows how long threads stood; that the promise was kept is checked by that and not by
 * the keeper's own account.
 */
#ifndef SIMULATE_WATCHED_H
#define SIMULATE_WATCHED_H

#include <stdint.h>

#include "report/model/summary.h"
#include "tests/simulate/spots.h"

struct simulation {
	const struct scenario *scenario;
	uint64_t seed;
	double seconds;
	uint32_t budget_ppm;
	double slow;			/* stops take so many times longer, and the keeper knows that */
	bool verdicts;			/* at the end it is looked which tracked blocks are lost */
	uint32_t late;			/* at one stop in so many the keeper gets no processor at once; 0: it always does */
	/* the result */
	struct spot_state *states;	/* of each spot */
	struct summary summary;		/* the report; a group's stack has one frame, whose pc is watched_pc() */
	double stood_s, worst_ppm;	/* all stops; of the worst ten seconds */
	uint64_t stops;
};

/* Run it. 0 or -ENOMEM. */
int watched_run(struct simulation *s);
void watched_fini(struct simulation *s);

/* The pc of spot number @i: where its call returns. */
taddr watched_pc(size_t i);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * meter: how much is seen at one site, where a budget says how often the target may be stopped (metering.h).
 *
 *	the controller says	quota hits a round, a round about every period_ms
 *	the keeper tells	for how long the trap stood, and how often it was hit meanwhile
 *
 * From the sums over stretches a rate and its doubt can be told (ratio of hits to exposure, and what the stretches scatter around
 * it). A stretch is the time from planting the trap to lifting it, METER_STRETCH_NS at most: then the next one begins. A stretch ends when
 * the quota is reached, at that very hit; or with the round; or when there is nothing left to spend.
 *
 * Hits and exposure are those of a target that nobody disturbs. Where the quota is reached within milliseconds, exposure is not for how long the
 * trap stood, but for how long the target would have taken to come as far (pace.h), and hits while another thread stood because of us are
 * not counted. So a thread that is stopped at each allocation is not taken for a slow one. Every hit that is served has its record, also one
 * that is not counted here.
 *
 * Not to count them is right where threads come each by itself. Where they meet and then go the same way, all come at once, and one is counted: so it is
 * noted how many were not (report/sampling/estimate.c).
 */
#ifndef MM_METER_H
#define MM_METER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define METER_STRETCH_NS 2000000000ull	/* no longer: squares of us add up to what 64 bits hold in a hundred days */
#define METER_AWAY_NS 10000000ull	/* what is lifted within its round does not stand again before that */

/* In shared memory, one for each number of a site. */
struct meter {
	/* the controller's, changed at any time: seen at the beginning of the next round, or when the site is planted again */
	_Atomic uint32_t quota;		/* hits a round, then lifted until the next; 0: as many as come */
	_Atomic uint32_t period_ms;	/* a round begins about so long after the one before; 0: not metered, it stands always */
	_Atomic uint32_t ahead;		/* its rounds begin when it is time; 0: and when they are paid for (turns.h) */
	_Atomic uint32_t hold;		/* the next hit is held until the controller answers, if that can be paid for (cost.h); the keeper sets it back */
	/* the keeper's */
	_Atomic uint32_t version;	/* odd while it writes */
	_Atomic uint64_t rounds;	/* stretches that are over */
	_Atomic uint64_t full;		/* ended by the quota */
	_Atomic uint64_t hits, exposed_us;
	_Atomic uint64_t hits2, hits_exposed, exposed2;	/* sums of h*h, h*e, e*e over stretches, e in µs */
	_Atomic uint64_t missed;	/* hits that are not counted, as somebody stood; */
	_Atomic uint64_t stood_us;	/* for how long somebody did, in stretches with hits */
};

struct meter_sums {
	uint64_t rounds, full;
	uint64_t hits, exposed_us;
	uint64_t hits2, hits_exposed, exposed2;
	uint64_t missed, stood_us;
};

/* For the controller: all as of one moment. */
void meter_read(const struct meter *m, struct meter_sums *out);

/* Both together; and what came since @less. */
void meter_sum(struct meter_sums *to, const struct meter_sums *more);
void meter_subtract(struct meter_sums *from, const struct meter_sums *less);

struct meter_stretch {
	uint64_t hits, exposed_us;
	bool full;			/* ended by the quota */
	uint64_t missed, stood_us;	/* hits that are not among these; for how long somebody stood, if any came */
};

/* For the keeper: a stretch is over. */
void meter_add(struct meter *m, const struct meter_stretch *its);

/* For the keeper: one came when it was over, and is not counted. */
void meter_miss(struct meter *m);

/* For the keeper: the number is another site's from now on; what the controller has set stays. */
void meter_clear(struct meter *m);

#endif

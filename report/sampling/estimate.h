/* SPDX-License-Identifier: MIT */
/*
 * estimate: from what was seen while traps stood to what happens all the time, with 95 % intervals.
 *
 *	rate		hits / time the trap stood, over rounds. A round ends by time or at the quota's last hit: neither makes the ratio wrong where hits come
 *			by chance; for those that come evenly it is put right.
 *			Interval: a gamma distribution's quantiles (Jeffreys), of hits that count less the more they come in bunches, which the
 *			rounds' residuals h - rate*e tell (quasi-Poisson)
 *	kept		rate x share that stays; the two intervals are put together on a log scale (MOVER), or where nothing stays, on the plain one
 *
 * Where hits come in bunches and rounds end in the middle of one, the rest of the bunch is never seen: the rate is then too low, nobody can
 * tell by how much, and it is marked `at_least`. So it is where threads come in lockstep, of which one is counted: far more came while it stood than the rate
 * lets expect.
 */
#ifndef MM_ESTIMATE_H
#define MM_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

/* A site's, over all its rounds: what attach/keeper/budget/meter.h counts, h: hits of a round, e: its time in microseconds. */
struct estimate_rounds {
	uint64_t rounds, full;		/* full: ended by the quota */
	uint64_t hits, exposed_us;	/* sums of h, e */
	uint64_t hits2, hits_exposed, exposed2;	/* of h*h, h*e, e*e */
	uint64_t missed, stood_us;	/* hits that are not among them, as somebody stood stopped; for how long somebody did */
};

struct estimate {
	double value, low, high;
	bool at_least;			/* it may be any number more */
};

/* A second: of @seen hits among those of the site (one stack's, or all). No exposure: all is 0, and high infinite. */
void estimate_rate(const struct estimate_rounds *r, uint64_t seen, struct estimate *out);

/* Do hits come in bunches, more than by chance? And do rounds end in the middle of them? Then the rate is too low, the more so the smaller the quota. */
bool estimate_in_bunches(const struct estimate_rounds *r);
bool estimate_cuts_bunches(const struct estimate_rounds *r);

/* @rate (a second, a minute, of blocks, of bytes) times a share with its interval. */
void estimate_kept(const struct estimate *rate, double share, double share_low, double share_high, struct estimate *out);

/* @e in other units: a minute instead of a second, bytes instead of blocks. */
void estimate_scale(struct estimate *e, double by);

#endif

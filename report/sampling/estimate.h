/* SPDX-License-Identifier: MIT */
/*
 * estimate: from what was seen while traps were planted to the rates over all the time, with 95 % intervals.
 *
 *	rate	hits / exposure, over rounds. A round ends by time or at the quota's last hit: neither biases
 *		the ratio if hits come at random; for hits that come evenly it is corrected.
 *		Interval: quantiles of a gamma distribution (Jeffreys). Hits that come in bunches count less,
 *		as the residuals h - rate*e of the rounds show (quasi-Poisson)
 *	kept	rate x share that stays live; the two intervals are combined on a log scale (MOVER), or on a
 *		linear one if nothing stays
 *
 * If hits come in bunches and rounds end in the middle of one, the rest of the bunch is never seen: the rate
 * is too low by an unknown amount, and is marked `at_least`. The same holds for threads in lockstep of which
 * one is counted: far more hits came while it was stopped than the rate predicts.
 */
#ifndef MM_ESTIMATE_H
#define MM_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The sums over all rounds of a site, as attach/keeper/budget/site_stats.h counts them. h: hits of a round,
 * e: its exposure in microseconds.
 */
struct estimate_rounds {
	uint64_t rounds, full;		/* full: rounds that the quota ended */
	uint64_t hits, exposed_us;	/* sums of h, e */
	uint64_t hits2, hits_exposed, exposed2;	/* of h*h, h*e, e*e */
	/* hits that are not counted since a thread was stopped at the time; for how long one was stopped */
	uint64_t missed, stood_us;
};

struct estimate {
	double value, low, high;
	bool at_least;			/* the true value may be any higher one */
};

/*
 * A rate per second: of @seen hits among those of the site (one stack's, or all). No exposure: all is 0, and
 * high infinite.
 */
void estimate_rate(const struct estimate_rounds *r, uint64_t seen, struct estimate *out);

/*
 * Do hits come in bunches, more than by chance? And do rounds end in the middle of bunches? Then the rate is
 * too low, the more so the smaller the quota.
 */
bool estimate_in_bunches(const struct estimate_rounds *r);
bool estimate_cuts_bunches(const struct estimate_rounds *r);

/* @rate (a second, a minute, of blocks, of bytes) times a share with its interval. */
void estimate_kept(const struct estimate *rate, double share, double share_low, double share_high,
		   struct estimate *out);

/* @e in other units: a minute instead of a second, bytes instead of blocks. */
void estimate_scale(struct estimate *e, double by);

#endif

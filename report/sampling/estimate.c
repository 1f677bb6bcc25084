/* SPDX-License-Identifier: MIT */
#include "report/sampling/estimate.h"

#include <math.h>

#include "report/sampling/quantile.h"

#define LOW 0.025
#define HIGH 0.975
#define STOP_US 50.0
#define HOT_US 5000.0		/* between hits; below, stops matter (attach/keeper/budget/exposure.h) */
#define CUT_SHARE 0.02		/* of all rounds: if the quota ended fewer, what it cuts off is negligible */

static double max(double a, double b)
{
	return a > b ? a : b;
}

static double square(double x)
{
	return x * x;
}

/*
 * By how much the hits of a round vary more than independent hits would. Independent hits give 1, also in
 * rounds that the quota ended (hits - rate * time is a martingale, so its variance is the mean of hits
 * wherever a round ends); bunches of n give about n.
 */
static double dispersion(const struct estimate_rounds *r)
{
	const double rate = (double)r->hits / (double)r->exposed_us;
	const double squares =
		(double)r->hits2 - 2 * rate * (double)r->hits_exposed + rate * rate * (double)r->exposed2;

	if (r->rounds < 2 || !r->hits)
		return 1;
	return squares / (double)r->hits * (double)r->rounds / (double)(r->rounds - 1);
}

/*
 * How far the dispersion may be from 1 by chance: each round's share of it has a variance of about 2, more
 * with few hits.
 */
static double chance(const struct estimate_rounds *r)
{
	const double rounds = (double)r->rounds;

	return sqrt((2 + rounds / max((double)r->hits, 1)) / rounds);
}

bool estimate_in_bunches(const struct estimate_rounds *r)
{
	return r->exposed_us && r->rounds && dispersion(r) > 1 + 4 * chance(r);
}

bool estimate_cuts_bunches(const struct estimate_rounds *r)
{
	return (double)r->full > CUT_SHARE * (double)r->rounds && estimate_in_bunches(r);
}

/*
 * Did far more hits come while a thread was stopped than the rate predicts? Three times as many are allowed,
 * and as many again as were counted: threads that a clock wakes together all work at that moment, and some of
 * their hits, before the first one is seen to be stopped, fall in what counts as quiet time. Some are allowed
 * for chance: eight where none is expected. A rate that is not marked is reported at no less than 1/(2 + 3
 * stood/exposed) of the truth, which is half if stops are far apart; less if only a few hits were counted.
 */
static bool in_lockstep(const struct estimate_rounds *r)
{
	const double expected = (double)r->hits / (double)r->exposed_us * (double)r->stood_us;

	return (double)r->missed > 3 * expected + (double)r->hits + 4 * sqrt(expected) + 8;
}

/*
 * The factor by which the rate is corrected. If hits come evenly, as by a timer, a round that the quota ends
 * is too short: it begins anywhere between two hits and ends at one, so four hits take three and a half
 * intervals. If hits are random, the wait for the first is as long as for the others. In between, it is (1 +
 * v)/2 intervals, where v is the variation of the intervals: the dispersion without the part that comes from
 * the random beginnings alone.
 */
static double part_that_counts(const struct estimate_rounds *r, double phi)
{
	const double quota = (double)r->hits / (double)r->rounds,
		     begins = square(quota / (quota - 0.5)) / (12 * quota);

	if (phi >= 1 - 2 * chance(r) || quota < 1)
		return 1;
	/* no round is full without a hit */
	return max(1 - (double)r->full * (1 - max((phi - begins) / (1 - begins), 0)) / 2 / (double)r->hits,
		   0.5);
}

/*
 * STOP_US is the uncertainty of the time at which a stop began and the thread ran again. Hits that follow
 * each other as quickly as that carry little information, and their rate appears distorted.
 */
static void allow_for_stops(const struct estimate_rounds *r, struct estimate *out)
{
	const double e = (double)r->exposed_us, stops = STOP_US * (double)r->hits;

	if (e > HOT_US * (double)r->hits)
		return;
	out->low *= e / (e + stops);
	out->high *= e / max(e - stops, e / 4);
}

void estimate_rate(const struct estimate_rounds *r, uint64_t seen, struct estimate *out)
{
	const double seconds = (double)r->exposed_us / 1e6;
	double phi, hits, part;

	*out = (struct estimate){ .high = INFINITY };
	if (!r->exposed_us)
		return;
	phi = dispersion(r);
	part = part_that_counts(r, phi);
	phi = max(phi, 1);
	hits = (double)seen / phi;
	out->value = (double)seen * part / seconds;
	out->low = seen ? quantile_gamma(LOW, hits + 0.5) * phi * part / seconds : 0;
	out->high = quantile_gamma(HIGH, hits + 0.5) * phi * part / seconds;
	allow_for_stops(r, out);
	out->at_least = seen && (estimate_cuts_bunches(r) || in_lockstep(r));
}

void estimate_kept(const struct estimate *rate, double share, double share_low, double share_high,
		   struct estimate *out)
{
	const double value = rate->value * share;

	*out = (struct estimate){ .value = value, .at_least = rate->at_least && share_high > 0 };
	if (rate->low > 0 && share_low > 0)
		out->low = value / exp(hypot(log(rate->value / rate->low), log(share / share_low)));
	if (isinf(rate->high))
		out->high = share_high > 0 ? INFINITY : 0;
	else if (value > 0)
		out->high = value * exp(hypot(log(rate->high / rate->value), log(share_high / share)));
	else
		out->high = value + sqrt(square(share * (rate->high - rate->value)) +
					 square(rate->value * (share_high - share)) +
					 square((rate->high - rate->value) * (share_high - share)));
}

void estimate_scale(struct estimate *e, double by)
{
	e->value *= by;
	e->low *= by;
	e->high *= by;
}

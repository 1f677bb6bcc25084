/* SPDX-License-Identifier: MIT */
#include "report/estimate.h"

#include <math.h>

#include "report/quantile.h"

#define LOW 0.025
#define HIGH 0.975
#define CUT_SHARE 0.02		/* of all rounds: so many must have been ended by the quota before what it cuts off matters */

static double max(double a, double b)
{
	return a > b ? a : b;
}

/*
 * How much more the hits of a round vary than if each came by itself: 1 then, also for rounds that the quota ended (hits - rate * time is a
 * martingale, so its variance is the mean of hits wherever one stops); about n for bunches of n.
 */
static double dispersion(const struct estimate_rounds *r)
{
	const double rate = (double)r->hits / (double)r->exposed_us;
	const double squares = (double)r->hits2 - 2 * rate * (double)r->hits_exposed + rate * rate * (double)r->exposed2;

	if (r->rounds < 2 || !r->hits)
		return 1;
	return squares / (double)r->hits * (double)r->rounds / (double)(r->rounds - 1);
}

/* Is it more than chance that hits come in bunches? Each round's share of the dispersion has a variance of about 2, more with few hits. */
static bool in_bunches(const struct estimate_rounds *r, double phi)
{
	const double rounds = (double)r->rounds;

	return phi > 1 + 4 * sqrt((2 + rounds / max((double)r->hits, 1)) / rounds);
}

void estimate_rate(const struct estimate_rounds *r, uint64_t seen, struct estimate *out)
{
	const double seconds = (double)r->exposed_us / 1e6;
	double phi, hits;

	*out = (struct estimate){ .high = INFINITY };
	if (!r->exposed_us)
		return;
	phi = max(dispersion(r), 1);
	hits = (double)seen / phi;
	out->value = (double)seen / seconds;
	out->low = seen ? quantile_gamma(LOW, hits + 0.5) * phi / seconds : 0;
	out->high = quantile_gamma(HIGH, hits + 0.5) * phi / seconds;
	out->at_least = seen && (double)r->full > CUT_SHARE * (double)r->rounds && in_bunches(r, phi);
}

static double square(double x)
{
	return x * x;
}

void estimate_kept(const struct estimate *rate, double share, double share_low, double share_high, struct estimate *out)
{
	const double value = rate->value * share;

	*out = (struct estimate){ .value = value, .at_least = rate->at_least && share > 0 };
	if (rate->low > 0 && share_low > 0)
		out->low = value / exp(hypot(log(rate->value / rate->low), log(share / share_low)));
	if (isinf(rate->high))
		out->high = share_high > 0 ? INFINITY : 0;
	else if (value > 0)
		out->high = value * exp(hypot(log(rate->high / rate->value), log(share_high / share)));
	else
		out->high = value + sqrt(square(share * (rate->high - rate->value)) + square(rate->value * (share_high - share)) +
					 square((rate->high - rate->value) * (share_high - share)));
}

void estimate_scale(struct estimate *e, double by)
{
	e->value *= by;
	e->low *= by;
	e->high *= by;
}

/* SPDX-License-Identifier: MIT */
#include "report/sampled_others.h"

#include <math.h>

#include "report/sampled.h"

#define FIRST_LOOK_S 0.005	/* the first looks are after two milliseconds or more (attach/following.h) */
#define MOST 0.5		/* where more is left, it is not others' only */
#define KEEPS 0.5		/* who keeps so much counts: those of whom less is left may be others' themselves */
#define LIKE 2.0		/* times as large, on average: of about that size. A block that is another's has its size */

static bool are_alike(const struct summary_sample *a, const struct summary_sample *b)
{
	return a->bytes_each <= LIKE * b->bytes_each && b->bytes_each <= LIKE * a->bytes_each;
}

/* The share of its blocks that is still there at that age, or when they were last seen. */
static double left_at(const struct summary_sample *its, double age_s)
{
	double left[SURVIVAL_STEPS];
	unsigned n = survival_left(its->steps, left), i = 0;

	while (i + 1 < n && survival_age_s(i + 1) <= age_s)
		i++;
	return left[i];
}

/* A second, at most. */
static double keeps(const struct summary_sample *its, double age_s)
{
	const double left = left_at(its, age_s);

	if (left < KEEPS)
		return 0;
	return its->allocs.at_least ? INFINITY : its->allocs.high / 60 * left;
}

static bool may_be_others(const struct summary_sample *its, struct summary_sample *const *all, size_t n)
{
	double others = 0;

	if (its->survival.kind != SURVIVAL_STAYS || its->survival.share > MOST)
		return false;
	for (size_t i = 0; i < n; i++)
		if (all[i] && all[i] != its && are_alike(all[i], its))
			others += keeps(all[i], its->survival.age_s);
	return its->survival.share <= others * FIRST_LOOK_S && its->kept_blocks.low <= others * 60;
}

void sampled_doubt_others(struct summary_sample *const *all, size_t n)
{
	/* who is doubted keeps too little to count for another one, so their order does not matter */
	for (size_t i = 0; i < n; i++)
		if (all[i] && may_be_others(all[i], all, n))
			sampled_doubt(all[i], SURVIVAL_OTHERS);
}

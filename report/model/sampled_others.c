/* SPDX-License-Identifier: MIT */
#include "report/model/sampled_others.h"

#include <math.h>

#include "report/model/sampled.h"

/*
 * The age of a block at its first look, with a margin: it is BLOCK_POLL_FIRST_NS (2 ms,
 * attach/sampling/blocks/block_poll.h), and somewhat more if mmattach has to wait for a processor.
 */
#define FIRST_LOOK_S 0.005
/*
 * If a larger share is left, the blocks are assumed to be the site's own, though a site that allocates right
 * after it would leave as many.
 */
#define MOST 0.5
#define MORE 2.0		/* only other sites of which at least so many times as much is left count */
/*
 * Blocks that were followed for so long say something of those that stay: too little for a conclusion on their own
 * site, but enough to doubt another one.
 */
#define OLD_ENOUGH_S 1.0
/*
 * Sizes that differ by at most this factor are about the same. (The size that is known of a block may be that
 * of another site's block at its address.)
 */
#define LIKE 2.0
#define EXCEEDS 2
#define EXCEEDS_PART 0.1	/* of all that the process loses */
#define NEARLY_ALL 0.95		/* of the allocations are seen */

static bool are_alike(double a, double b)
{
	return a <= LIKE * b && b <= LIKE * a;
}

/*
 * The share of its blocks that is live at that age, or when they were last seen. 0 if they were too young
 * then: nothing is known.
 */
static double left_at(const struct summary_sample *its, double age_s)
{
	double left[SURVIVAL_STEPS];
	unsigned n = survival_left(its->steps, left), i = 0;

	if (survival_age_s(n - 1) < OLD_ENOUGH_S)
		return 0;
	while (i + 1 < n && survival_age_s(i + 1) <= age_s)
		i++;
	return left[i];
}

/*
 * Blocks per minute that a site allocates unseen and does not free. An allocation that is seen ends the
 * tracking of an earlier block at its address.
 */
static struct estimate keeps_unseen(const struct summary_sample *its, double left)
{
	struct estimate e = its->allocs;

	if (its->sees >= 1)
		return (struct estimate){ 0 };
	if (e.at_least)
		e.high = INFINITY;
	estimate_scale(&e, left * (1 - its->sees));
	return e;
}

static bool may_be_others(const struct sampled_place *its, const struct sampled_place *all, size_t n)
{
	const struct survival *v = &its->its->survival;
	struct estimate others = { 0 };

	if (v->kind != SURVIVAL_STAYS || v->share > MOST || its->its->by_probes)
		return false;
	for (size_t i = 0; i < n; i++) {
		const double left = &all[i] != its && are_alike(all[i].bytes, its->bytes)
					    ? left_at(all[i].its, v->age_s)
					    : 0;
		const struct estimate e = keeps_unseen(all[i].its, left);

		if (left >= MORE * v->share)
			sampled_add_estimate(&others, &e);
	}
	return v->share <= others.high / 60 * FIRST_LOOK_S && its->its->kept_blocks.low <= others.high;
}

/* An allocation that is seen ends the tracking of an earlier block at its address. */
static bool loses_unseen(const struct summary_sample *its)
{
	return its->lost && its->survival.kind != SURVIVAL_GOES && its->sees < NEARLY_ALL;
}

/*
 * May what is lost of this site's blocks be another's, which got their addresses before the first look? Nothing else
 * shows that they stay; so one other site that may be it is enough.
 */
static bool lost_may_be_others(const struct sampled_place *its, const struct sampled_place *all, size_t n)
{
	if (!its->its->by_lost || its->its->survival.kind != SURVIVAL_STAYS)
		return false;
	for (size_t i = 0; i < n; i++)
		if (&all[i] != its && are_alike(all[i].bytes, its->bytes) && loses_unseen(all[i].its))
			return true;
	return false;
}

/* What the process loses, less what is known to be lost at some sites, at least. */
static double lost_elsewhere(const struct sampled_place *all, size_t n, double lost)
{
	for (size_t i = 0; i < n; i++)
		if (all[i].its->by_probes)
			lost -= all[i].its->kept_blocks.low;
	return fmax(lost, 0);
}

/*
 * Are more of this site's blocks said to be lost than there are? By far: the rates are of the whole watch, of the time
 * between two copies, and of that since there were probes.
 */
static bool exceeds(const struct summary_sample *its, double rest, double lost)
{
	return its->survival.kind == SURVIVAL_STAYS && !its->by_probes && its->lost &&
	       its->kept_blocks.low * (its->by_lost ? 1 : (double)its->lost / fmax((double)its->searched, 1)) >
		       EXCEEDS * rest + EXCEEDS_PART * lost;
}

void sampled_doubt_others(const struct sampled_place *all, size_t n, double lost)
{
	const double rest = lost_elsewhere(all, n, lost);

	/* the rates and ages of the others count, doubted or not, so the order does not matter */
	for (size_t i = 0; i < n; i++)
		if (may_be_others(&all[i], all, n) || lost_may_be_others(&all[i], all, n) ||
		    exceeds(all[i].its, rest, lost))
			sampled_doubt(all[i].its, SURVIVAL_OTHERS);
}

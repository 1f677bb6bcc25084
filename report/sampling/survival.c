/* SPDX-License-Identifier: MIT */
#include "report/sampling/survival.h"

#include <math.h>
#include <stddef.h>

#include "report/sampling/quantile.h"

/* the last steps, about a tenfold of age: blocks that are freed in these are freed late */
#define LATE_STEPS 2u
#define LATE_FEW 0.05		/* leaks: at most this share of the old ones is freed */
#define LATE_LOST 0.2		/* leaks: of at most this share of them the fate is unknown */
#define LATE_MANY 0.3		/* freed: at least this share of the old ones is freed */
/* freed: at most this share is left, and it may be only what SURVIVAL_CHANCE explains */
#define SHARE_GONE 0.05
/* if a share from this to SURVIVAL_CHANCE is left, these may be other blocks; if less, they are */
#define SHARE_NONE 0.005
#define NOTICED 3.0		/* address reuses to be expected; then it is not chance that none is seen */
#define NEARLY_ALL 0.9		/* of the allocations are seen: what reuse was noticed was nearly all there was */

static const double ages[SURVIVAL_STEPS] = {
	0, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000, 3000, 10000, 30000,
};

static const char *const names[] = {
#define X(upper, lower) [SURVIVAL_##upper] = #lower,
	SURVIVAL_KINDS(X)
#undef X
};

double survival_age_s(unsigned step)
{
	return step < SURVIVAL_STEPS ? ages[step] : INFINITY;
}

const char *survival_name(enum survival_kind kind)
{
	return names[kind];
}

void survival_count(struct survival_step steps[SURVIVAL_STEPS], double age_s, enum survival_end end)
{
	unsigned last = 0;

	while (last + 1 < SURVIVAL_STEPS && ages[last + 1] <= age_s)
		last++;
	for (unsigned i = 0; i <= last; i++)
		steps[i].at_risk++;
	steps[last].gone += end == SURVIVAL_GONE;
	steps[last].unknown += end == SURVIVAL_LOST;
}

/* --- the share that is left --- */

/*
 * The share of the blocks at risk that is freed in a step. A block that is no longer tracked, or not yet for
 * that long, counts as at risk for half of the step. @lost_are_gone: blocks of unknown fate count as gone.
 */
static double hazard(const struct survival_step *s, uint64_t at_risk_next, bool lost_are_gone)
{
	const uint64_t gone = s->gone + (lost_are_gone ? s->unknown : 0);
	const uint64_t ended = gone + at_risk_next, others = s->at_risk > ended ? s->at_risk - ended : 0;
	const double n = (double)s->at_risk - (double)others / 2;

	if (!gone || n <= 0)
		return 0;
	return (double)gone < n ? (double)gone / n : 1;
}

static uint64_t at_risk(const struct survival_step *steps, unsigned step)
{
	return step < SURVIVAL_STEPS ? steps[step].at_risk : 0;
}

struct course {
	double left[SURVIVAL_STEPS + 1];	/* share of all, at the beginning of each step */
	double n[SURVIVAL_STEPS + 1];		/* blocks whose fate is known, as if none had been freed */
	unsigned known;				/* the last step of which enough is known */
};

/*
 * The blocks at risk now, scaled to the number that there would be if none had been freed: the fate of that
 * many is known. If none is left, the number of the step before.
 */
static double known_of(const struct course *c, const struct survival_step *steps, unsigned i)
{
	return c->left[i] > 0 ? (double)at_risk(steps, i) / c->left[i] : c->n[i - 1];
}

static void run_course(const struct survival_step *steps, bool lost_are_gone, struct course *c)
{
	*c = (struct course){ .left = { 1 }, .n = { (double)steps[0].at_risk } };
	for (unsigned i = 1; i <= SURVIVAL_STEPS; i++) {
		c->left[i] = c->left[i - 1] * (1 - hazard(&steps[i - 1], at_risk(steps, i), lost_are_gone));
		c->n[i] = known_of(c, steps, i);
		/* once no block is left, later steps add nothing */
		if (i < SURVIVAL_STEPS && c->known == i - 1 && c->left[i - 1] > 0 &&
		    c->n[i] >= SURVIVAL_ENOUGH)
			c->known = i;
	}
}

/* --- conclusions --- */

/*
 * Of the blocks that reached step @from, the share that is freed in it or later. @lost_are_gone: or whose
 * fate is unknown.
 */
static double goes_from(const struct survival_step *steps, unsigned from, bool lost_are_gone)
{
	double stay = 1;

	for (unsigned i = from; i < SURVIVAL_STEPS; i++)
		stay *= 1 - hazard(&steps[i], at_risk(steps, i + 1), lost_are_gone);
	return 1 - stay;
}

/* A lower bound: blocks that ended in a step count as if they had ended at its beginning. */
static double followed_for(const struct survival_step *steps)
{
	double sum = 0;

	for (unsigned i = 1; i < SURVIVAL_STEPS; i++)
		sum += (double)steps[i].at_risk * (ages[i] - ages[i - 1]);
	return sum;
}

static double half_life(const struct course *c)
{
	for (unsigned i = 0; i < SURVIVAL_STEPS; i++) {
		if (c->left[i + 1] > 0.5)
			continue;
		/* where the line between the ends of the step, on a log scale of age, crosses a half */
		const double lo = ages[i] > 0 ? ages[i] : ages[1] / 10,
			     hi = i + 1 < SURVIVAL_STEPS ? ages[i + 1] : ages[i] * 3;

		return lo * pow(hi / lo, (c->left[i] - 0.5) / (c->left[i] - c->left[i + 1]));
	}
	return 0;
}

bool survival_is_still(const struct survival *s)
{
	return s->old >= SURVIVAL_ENOUGH && s->age_s >= s->min_age_s && s->late <= LATE_FEW &&
	       s->lost <= LATE_LOST;
}

static enum survival_kind kind_of(const struct survival *s)
{
	if (s->followed < SURVIVAL_ENOUGH)
		return SURVIVAL_UNKNOWN;
	if (survival_is_still(s) && s->share > SHARE_NONE)
		return s->share > SURVIVAL_CHANCE ? SURVIVAL_STAYS : SURVIVAL_UNKNOWN;
	if ((s->share <= SHARE_GONE && s->low <= SURVIVAL_CHANCE) || s->late >= LATE_MANY)
		return SURVIVAL_GOES;
	return SURVIVAL_UNKNOWN;
}

static double min_age(double watched_s)
{
	unsigned i = 0;

	while (i + 1 < SURVIVAL_STEPS &&
	       (ages[i] < SURVIVAL_MIN_AGE_S || ages[i] < watched_s * SURVIVAL_MIN_PART))
		i++;
	return ages[i];
}

void survival_conclude(const struct survival_step steps[SURVIVAL_STEPS], double watched_s,
		       uint64_t late_seen, double late_expected, struct survival *out)
{
	struct course known, least;
	unsigned from;
	double unused;

	*out = (struct survival){ .followed = steps[0].at_risk, .high = 1,
				  .min_age_s = min_age(watched_s) };
	if (!steps[0].at_risk)
		return;
	run_course(steps, false, &known);
	run_course(steps, true, &least);
	out->age_s = ages[known.known];
	out->old = steps[known.known].at_risk;
	out->share = known.left[known.known];
	out->half_s = half_life(&known);
	quantile_share(out->share * known.n[known.known], known.n[known.known], &unused, &out->high);
	quantile_share(least.left[known.known] * known.n[known.known], known.n[known.known], &out->low,
		       &unused);
	from = known.known >= LATE_STEPS ? known.known - (LATE_STEPS - 1) : 0;
	out->late = goes_from(steps, from, false);
	out->late_from_s = ages[from];
	out->followed_s = followed_for(steps);
	out->lost = goes_from(steps, from, true);
	out->kind = kind_of(out);
	if (out->kind == SURVIVAL_STAYS && !late_seen)
		out->kind = late_expected >= SURVIVAL_EXPECTED ? SURVIVAL_TABLE : SURVIVAL_UNKNOWN;
}

unsigned survival_left(const struct survival_step steps[SURVIVAL_STEPS], double left[SURVIVAL_STEPS])
{
	struct course c;

	run_course(steps, false, &c);
	for (unsigned i = 0; i <= c.known; i++)
		left[i] = c.left[i];
	return c.known + 1;
}

/*
 * If the site's blocks were reused after a time t, from as many addresses as it allocates in t, then for each
 * t that a block is tracked, the reuse of its address would be seen with probability @sees.
 */
enum survival_doubt survival_doubt(struct survival *s, double sees)
{
	const double noticed = s->age_s > 0 ? sees * s->followed_s / (s->age_s / 3) : 0;
	const enum survival_doubt doubt = noticed < NOTICED	      ? SURVIVAL_UNNOTICED
					  : s->late > LATE_FEW * sees ? SURVIVAL_NOTICED
								      : SURVIVAL_SURE;

	if (doubt == SURVIVAL_SURE)
		return SURVIVAL_SURE;
	if (doubt == SURVIVAL_UNNOTICED || sees < NEARLY_ALL)
		s->low = 0;
	if (s->kind != SURVIVAL_STAYS)
		return SURVIVAL_SURE;
	s->kind = SURVIVAL_UNKNOWN;
	return doubt;
}

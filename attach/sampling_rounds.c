/* SPDX-License-Identifier: MIT */
#include "attach/sampling_rounds.h"

#include "attach/keeper/spending.h"

#define STOP_NS 30000u		/* before it is known */
#define SETTLED_BY 8u		/* blocks that have gone */
#define CANDIDATE_BY 3u		/* blocks that have not */
#define CANDIDATE_QUOTA 16u

void sampling_rounds_init(struct sampling_rounds *r, uint32_t budget_ppm)
{
	*r = (struct sampling_rounds){ .budget_ppm = budget_ppm, .stop_ns = STOP_NS };
}

/*
 * Nanoseconds of a second that may be spent on all candidates together, of those that the keeper aims at: two thirds of what is promised. Of the rest
 * what is seldom has what it takes; and what is hot what that leaves (keeper/turns.h).
 */
static double for_candidates(const struct sampling_rounds *r)
{
	return SPENDING_FILL(r->budget_ppm * 1000.0) * 0.4;
}

/* --- what the blocks say --- */

static bool may_leak(const struct sampling_stack *stack)
{
	struct survival_step steps[SURVIVAL_STEPS];
	struct survival verdict;

	if (stack->old < CANDIDATE_BY)
		return false;
	sampling_stacks_steps(stack, steps);
	survival_judge(steps, stack->seen, 0, &verdict);
	return verdict.kind != SURVIVAL_GOES;
}

static void gather(struct sampling_rounds *r, struct sampling_sites *sites, const struct sampling_stacks *stacks)
{
	for (size_t i = 0; i < sites->n; i++) {
		sites->all[i].gone = 0;
		sites->all[i].old = 0;
		sites->all[i].candidate = false;
	}
	for (size_t i = 0; i < stacks->n; i++) {
		const struct sampling_stack *stack = &stacks->all[i];
		struct sampling_site *site = &sites->all[stack->site];

		site->gone += stack->gone;
		site->old += stack->old;
		site->candidate |= may_leak(stack);
	}
	r->candidates = 0;
	r->settled = 0;
	for (size_t i = 0; i < sites->n; i++) {
		const struct sampling_site *site = &sites->all[i];

		r->candidates += sampling_sites_follows(site) && site->candidate;
		r->settled += sampling_sites_follows(site) && !site->candidate && site->doubled;
	}
}

/* --- what that comes to --- */

static double rate_of(const struct sampling_sites *sites, const struct sampling_site *site)
{
	const struct meter_sums none = { 0 };
	struct meter_sums sums;

	sampling_sites_sums(sites, site, &sums);
	return sampling_sites_rate(&none, &sums);
}

/*
 * What comes evenly is overestimated by rounds that end with their quota: by half a hit, for a round begins between two. So where the budget does not
 * reach for every call, it is larger quotas, in longer rounds.
 */
static void set_candidate(const struct sampling_rounds *r, struct sampling_sites *sites, struct sampling_site *site)
{
	double may = for_candidates(r) / r->candidates / (double)r->stop_ns, ms = CANDIDATE_QUOTA / may * 1000;
	uint32_t period_ms = ms < SAMPLING_PERIOD_MS ? SAMPLING_PERIOD_MS : ms > SAMPLING_RARELY_MS ? SAMPLING_RARELY_MS : (uint32_t)ms;
	uint32_t quota = may * period_ms / 1000 > CANDIDATE_QUOTA ? (uint32_t)(may * period_ms / 1000) : CANDIDATE_QUOTA;

	if (rate_of(sites, site) <= may) {
		sampling_sites_meter(sites, site, 0, SAMPLING_PERIOD_MS);
		return;
	}
	/* what hangs on measurements must not change with each look */
	if (site->quota < CANDIDATE_QUOTA || site->period_ms > 2 * period_ms || period_ms > 2 * site->period_ms || quota > 2 * site->quota)
		sampling_sites_meter(sites, site, quota, period_ms);
}

static void set_usual(struct sampling_sites *sites, struct sampling_site *site)
{
	uint64_t period_ms = (uint64_t)SAMPLING_PERIOD_MS << site->doubled;

	if (site->old) {
		site->doubled = 0;
		site->gone_then = site->gone;
	} else if (site->gone >= site->gone_then + SETTLED_BY && period_ms < SAMPLING_RARELY_MS) {
		site->doubled++;
		site->gone_then = site->gone;
	}
	period_ms = (uint64_t)SAMPLING_PERIOD_MS << site->doubled;
	sampling_sites_meter(sites, site, SAMPLING_QUOTA, period_ms < SAMPLING_RARELY_MS ? (uint32_t)period_ms : SAMPLING_RARELY_MS);
}

void sampling_rounds_decide(struct sampling_rounds *r, struct sampling_sites *sites, const struct sampling_stacks *stacks, uint64_t stop_ns)
{
	if (stop_ns)
		r->stop_ns = stop_ns;
	gather(r, sites, stacks);
	for (size_t i = 0; i < sites->n; i++) {
		struct sampling_site *site = &sites->all[i];

		if (!sampling_sites_follows(site))
			continue;
		if (site->candidate)
			set_candidate(r, sites, site);
		else
			set_usual(sites, site);
	}
}

/* SPDX-License-Identifier: MIT */
#include "attach/sampling/sampling_rounds.h"

#include <math.h>
#include <string.h>

#include "attach/keeper/budget/token_bucket.h"
#include "report/sampling/estimate.h"

#define STOP_NS 30000u		/* assumed until it is measured */
#define SETTLED_BY 8u		/* blocks that were freed */
#define CANDIDATE_BY 3u		/* blocks that were not */
#define CANDIDATE_QUOTA 16u
#define BUNCH_SHARE 2u		/* one part in so many of a full token bucket may be spent on bunches, */
#define BUNCH_S 10.0		/* and what the site's share gives in so many seconds */
/* even if it got all that is for candidates, so few of its calls would be seen that no conclusion follows */
#define HOPELESS 500.0
#define RECENT 10u		/* decisions, */
#define RECENT_ROUNDS 4u	/* and intervals: with fewer nothing is known of a site */
#define PART_LEAST 0.4		/* for candidates, */
#define PART_MOST 0.8
#define PART_STEP 1.25 /* so many times more if little of the budget is used, or less if nearly all is: */
#define USED_LITTLE 0.75
#define USED_UP 0.95
#define WINDOW_SHARE 4u		/* one part in so many of a full token bucket may be spent on a window */
#define WINDOWS_MS 600000.0	/* the longest time from one to the next */
#define WINDOWS_PART 8.0	/* one part in so many of the budget is for windows on malloc itself */

void sampling_rounds_init(struct sampling_rounds *r, uint32_t budget_ppm)
{
	*r = (struct sampling_rounds){ .budget_ppm = budget_ppm, .stop_ns = STOP_NS, .part = PART_LEAST };
}

/* Nanoseconds of a second that the keeper aims to spend: two thirds of the budget. */
static double aim(const struct sampling_rounds *r)
{
	return TOKEN_BUCKET_FILL(r->budget_ppm * 1000.0);
}

/*
 * The part that candidates do not get is for rarely hit sites, and then for hot ones
 * (keeper/budget/round_queue.h). Once the blocks of most are known to be freed, these are sampled rarely, and
 * do not use what they may.
 */
static void set_part(struct sampling_rounds *r, const struct sampling_costs *now)
{
	const double seconds = (double)(now->now_ns - r->then.now_ns) / 1e9,
		     used = (double)(now->spent_ns - r->then.spent_ns) / (aim(r) * seconds);

	if (!r->wanted)
		r->part = PART_LEAST;
	else if (r->then.now_ns && used < USED_LITTLE)
		r->part = fmin(r->part * PART_STEP, PART_MOST);
	else if (r->then.now_ns && used > USED_UP)
		r->part = fmax(r->part / PART_STEP, PART_LEAST);
	r->then = *now;
}

/*
 * The largest quota for a site with bunches: other sites must not suffer if all bunches come at once; and at
 * @share hits a second the bucket must have paid for them soon, or too little is learned.
 */
static uint32_t bunch_quota(const struct sampling_rounds *r, double share)
{
	const double tokens = (double)TOKEN_BUCKET_SIZE(TEN_SECONDS_NS / 1000000 * r->budget_ppm);
	const double hits = fmin(tokens / BUNCH_SHARE / r->bunched / (double)r->stop_ns, share * BUNCH_S);

	return (uint32_t)fmax(hits, CANDIDATE_QUOTA);
}

/* --- what became of the blocks --- */

static bool may_leak(const struct sampling_stacks *stacks, const struct sampling_stack *stack)
{
	struct survival_step steps[SURVIVAL_STEPS];
	struct survival verdict;

	if (stack->old < CANDIDATE_BY && !sampling_stacks_may_lose(stacks, stack))
		return false;
	sampling_stacks_steps(stack, steps);
	survival_conclude(steps, 0, stack->seen, 0, &verdict);
	return verdict.kind != SURVIVAL_GOES;
}

static bool is_candidate(const struct sampling_site *site)
{
	return sampling_sites_tracks(site) && site->candidate;
}

static void collect_sums(struct sampling_rounds *r, struct sampling_sites *sites,
			 const struct sampling_stacks *stacks)
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
		site->candidate |= may_leak(stacks, stack);
	}
	r->candidates = 0;
	r->settled = 0;
	for (size_t i = 0; i < sites->n; i++) {
		const struct sampling_site *site = &sites->all[i];

		r->candidates += is_candidate(site);
		r->settled += sampling_sites_tracks(site) && !site->candidate && site->doubled;
	}
}

/* --- what follows for the sites --- */

static struct estimate_rounds as_rounds(const struct site_stats_sums *sums)
{
	return (struct estimate_rounds){
		.rounds = sums->rounds, .full = sums->full, .hits = sums->hits,
		.exposed_us = sums->exposed_us, .hits2 = sums->hits2,
		.hits_exposed = sums->hits_exposed, .exposed2 = sums->exposed2,
	};
}

/* What a candidate needs follows from recent hits; whether hits come in bunches, from all of them. */
static void measure_needs(const struct sampling_sites *sites, struct sampling_site *site)
{
	const struct site_stats_sums none = { 0 };
	struct estimate_rounds rounds;
	struct site_stats_sums sums;

	sampling_sites_sums(sites, site, &sums);
	rounds = as_rounds(&sums);
	site->bunched = estimate_in_bunches(&rounds);
	site_stats_subtract(&sums, &site->recent[1]);
	rounds = as_rounds(&sums);
	site->rate = sums.hits && !sums.exposed_us ? INFINITY : sampling_sites_rate(&none, &sums);
	site->needs = estimate_cuts_bunches(&rounds) ? INFINITY : site->rate;
}

static bool is_older(const struct site_stats_sums *a, const struct site_stats_sums *than)
{
	return a->rounds <= than->rounds && a->hits <= than->hits && a->exposed_us <= than->exposed_us;
}

/*
 * Begin new sums of recent hits. A site with long rounds has few exposure intervals: then older ones count,
 * too.
 */
static void begin_recent(struct sampling_sites *sites)
{
	for (size_t i = 0; i < sites->n; i++) {
		struct sampling_site *site = &sites->all[i];
		struct site_stats_sums sums;

		if (!sampling_sites_tracks(site))
			continue;
		sampling_sites_sums(sites, site, &sums);
		/* the number of its trap was another site's when that was noted */
		if (!is_older(&site->recent[0], &sums))
			memset(site->recent, 0, sizeof(site->recent));
		if (sums.rounds < site->recent[0].rounds + RECENT_ROUNDS)
			continue;
		site->recent[1] = site->recent[0];
		site->recent[0] = sums;
	}
}

/*
 * If @all hits a second are divided among the candidates, and none gets more than it needs: the share of
 * those that need more. INFINITY: none needs more.
 */
static double share_of(const struct sampling_rounds *r, const struct sampling_sites *sites, double all)
{
	double share, next = all / r->candidates;

	do {
		double others = 0;
		uint32_t want = 0;

		share = next;
		for (size_t i = 0; i < sites->n; i++) {
			const struct sampling_site *site = &sites->all[i];

			want += is_candidate(site) && site->needs > share;
			others += is_candidate(site) && site->needs <= share ? site->needs : 0;
		}
		next = want ? (all - others) / want : INFINITY;
	} while (next > share);
	return share;
}

static bool differs(uint32_t a, uint32_t b)
{
	return 8ull * a > 9ull * b || 8ull * b > 9ull * a;
}

/*
 * The rate of hits that come evenly is overestimated if the quota ends rounds: by half a hit, for a round
 * begins between two. So if the budget does not cover every call, quotas are larger, in longer rounds. The
 * rate of hits that come in bunches is underestimated, by what of a bunch exceeds the quota.
 */
static void set_candidate(const struct sampling_rounds *r, struct sampling_sites *sites,
			  struct sampling_site *site, double share)
{
	uint32_t least = site->bunched ? bunch_quota(r, share) : CANDIDATE_QUOTA, period_ms, quota;
	double ms = least / share * 1000;

	if (site->needs <= share) {
		sampling_sites_meter(sites, site, 0, SAMPLING_PERIOD_MS);
		return;
	}
	period_ms = ms < SAMPLING_PERIOD_MS   ? SAMPLING_PERIOD_MS
		    : ms > SAMPLING_RARELY_MS ? SAMPLING_RARELY_MS
					      : (uint32_t)ms;
	quota = (uint32_t)fmax(share * period_ms / 1000, CANDIDATE_QUOTA);
	/* measured values vary a little: they must not change the meter at each decision */
	if (differs(quota, site->quota) || differs(period_ms, site->period_ms))
		sampling_sites_meter(sites, site, quota, period_ms);
}

/*
 * That tracked blocks stay live shows nothing if their addresses may be others' by now: about one call in two
 * hundred must be seen for that (survival_doubt). Of a site that is too hot for it no more is learned as a
 * candidate, and it would take most of what there is for those that are not. @all hits a second are for all.
 */
static void leave_out_hopeless(struct sampling_rounds *r, struct sampling_sites *sites, double all)
{
	for (size_t i = 0; i < sites->n; i++) {
		struct sampling_site *site = &sites->all[i];

		if (!is_candidate(site) || site->rate <= HOPELESS * all)
			continue;
		site->candidate = false;
		r->candidates--;
	}
}

static void set_candidates(struct sampling_rounds *r, struct sampling_sites *sites)
{
	const double all = aim(r) * r->part / (double)r->stop_ns;
	double share;

	for (size_t i = 0; i < sites->n; i++) {
		if (is_candidate(&sites->all[i]))
			measure_needs(sites, &sites->all[i]);
	}
	leave_out_hopeless(r, sites, all);
	if (!r->candidates)
		return;
	share = share_of(r, sites, all);
	r->wanted = !isinf(share);
	r->bunched = 0;
	for (size_t i = 0; i < sites->n; i++)
		r->bunched +=
			is_candidate(&sites->all[i]) && sites->all[i].bunched && sites->all[i].needs > share;
	for (size_t i = 0; i < sites->n; i++) {
		if (is_candidate(&sites->all[i]))
			set_candidate(r, sites, &sites->all[i], share);
	}
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
	sampling_sites_meter(sites, site, SAMPLING_QUOTA,
			     period_ms < SAMPLING_RARELY_MS ? (uint32_t)period_ms : SAMPLING_RARELY_MS);
}

/* As many hits as a part of a full token bucket pays for. */
static uint32_t window(const struct sampling_rounds *r)
{
	const double tokens = (double)TOKEN_BUCKET_SIZE(TEN_SECONDS_NS / 1000000 * r->budget_ppm);

	return (uint32_t)fmax(fmin(tokens / WINDOW_SHARE / (double)r->stop_ns, SAMPLING_WINDOW), 1);
}

/* Windows on malloc's exits: as often as all of them together may be. */
static void set_windows(const struct sampling_rounds *r, struct sampling_sites *sites)
{
	const uint32_t quota = window(r);
	double period_ms = 0;

	for (size_t i = 0; i < sites->n; i++) {
		if (sampling_sites_is_exit(&sites->all[i]) && sites->all[i].records)
			period_ms += quota * (double)r->stop_ns * WINDOWS_PART * 1000 / aim(r);
	}
	period_ms = fmin(fmax(period_ms, SAMPLING_WINDOW_MS), WINDOWS_MS);
	for (size_t i = 0; i < sites->n; i++) {
		struct sampling_site *site = &sites->all[i];

		if (sampling_sites_is_exit(site) && !site->candidate &&
		    (site->ahead || differs(quota, site->quota) || differs((uint32_t)period_ms, site->period_ms)))
			sampling_sites_meter(sites, site, quota, (uint32_t)period_ms);
	}
}

void sampling_rounds_decide(struct sampling_rounds *r, struct sampling_sites *sites,
			    const struct sampling_stacks *stacks, const struct sampling_costs *costs)
{
	if (costs->stop_ns)
		r->stop_ns = costs->stop_ns;
	collect_sums(r, sites, stacks);
	if (r->decided++ % RECENT == 0) {
		begin_recent(sites);
		set_part(r, costs);
	}
	r->wanted = false;
	if (r->candidates)
		set_candidates(r, sites);
	for (size_t i = 0; i < sites->n; i++) {
		struct sampling_site *site = &sites->all[i];

		if (sampling_sites_tracks(site) && !site->candidate && !sampling_sites_is_exit(site))
			set_usual(sites, site);
	}
	set_windows(r, sites);
}

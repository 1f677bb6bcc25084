/* SPDX-License-Identifier: MIT */
#include "attach/sampling/sampling_facts.h"

#include <inttypes.h>
#include <string.h>

#include "attach/sampling/sampling_check.h"
#include "attach/target/linker.h"

#define NOTED_MOVING_NS 1000000000ull
#define LOST_ENOUGH 3u
#define UNSURE_PART 10u

static uint32_t family_of(const struct sampling_sites *sites, const struct sampling_stack *stack)
{
	return sites->planting->rules[sites->targets->all[sites->all[stack->site].target].rule].family;
}

void sampling_facts_block(struct recorder *r, const struct sampling_sites *sites,
			  const struct sampling_stack *stack, struct fact *f, uint64_t now_ns)
{
	f->time_us = recorder_time(r, now_ns);
	recorder_put_event(r, family_of(sites, stack), f);
}

void sampling_facts_forget(struct recorder *r, const struct sampling_sites *sites,
			   const struct sampling_stack *stack, taddr addr, uint64_t now_ns)
{
	struct fact f = { .kind = MMT_FORGET, .block = { .addr = addr } };

	sampling_facts_block(r, sites, stack, &f, now_ns);
}

/*
 * Which part of the run is late: the last fifth. If nothing was seen in it, and the site's trap was planted
 * too briefly for that to mean anything (the budget was used up, say), it is the last half.
 */
static double late_part(const struct sampling_stack *stack, const struct sampling_site *site,
			const struct site_stats_sums *sums, uint64_t age_ns)
{
	const uint64_t exposed_us = sampling_spans_surely_late(&site->exposed, age_ns, SAMPLING_LATE);
	const double expected =
		sums->exposed_us ? (double)stack->seen * (double)exposed_us / (double)sums->exposed_us : 0;

	return expected >= SURVIVAL_EXPECTED || sampling_spans_late(&stack->when, age_ns, SAMPLING_LATE) >= 0.5
		       ? SAMPLING_LATE
		       : SAMPLING_LATE_MOST;
}

/*
 * For how long its trap was planted late in the run. If none was seen then, but there were such pauses before, as
 * of what allocates in bunches, that says nothing: as if it had not been planted.
 */
static uint64_t late_exposed(const struct sampling_stack *stack, const struct sampling_site *site, uint64_t age_ns,
			     double late)
{
	if (sampling_spans_late(&stack->when, age_ns, late) < 0.5 && !sampling_spans_is_over(&stack->when, age_ns))
		return 0;
	return sampling_spans_surely_late(&site->exposed, age_ns, late);
}

/* Some blocks that are reachable say nothing of the others; several that are lost do. */
static bool says_something(const struct sampling_stack *stack)
{
	return stack->lost >= LOST_ENOUGH ||
	       (stack->unsure <= stack->searched / UNSURE_PART && stack->unjudged <= stack->searched);
}

static void put_stack(struct recorder *r, const struct sampling_sites *sites,
		      const struct sampling_stacks *stacks, const struct sampling_stack *stack,
		      const struct site_stats_sums *sums, uint64_t now_ns)
{
	const struct sampling_site *site = &sites->all[stack->site];
	uint32_t family = family_of(sites, stack);
	const uint64_t age_ns = now_ns - stacks->begin_ns;
	const double late = late_part(stack, site, sums, age_ns);
	struct survival_step steps[SURVIVAL_STEPS];
	struct fact_sample its;
	struct fact f = { .kind = MMT_INFO, .info = MMT_SAMPLE, .time_us = recorder_time(r, now_ns),
			  .sample = { stack->number, &its } };

	sampling_stacks_steps(stack, steps);
	its = (struct fact_sample){
		.seen = stack->seen,
		.late_seen = (uint64_t)(sampling_spans_late(&stack->when, age_ns, late) + 0.5),
		.usable_bytes = stack->usable_bytes,
		.site_seen = site->records, .site_hits = sums->hits, .rounds = sums->rounds,
		.full = sums->full, .exposed_us = sums->exposed_us,
		.hits2 = sums->hits2, .hits_exposed = sums->hits_exposed, .exposed2 = sums->exposed2,
		.standing = site->number != SAMPLING_NONE && !site->quota, .nsteps = MMT_SAMPLE_STEPS,
		.late_exposed_us = late_exposed(stack, site, age_ns, late),
		.missed = sums->missed, .stood_us = sums->stood_us,
	};
	its.losing = stack->losing;
	/* what has the addresses of blocks that were handed on is others' */
	if (!stack->handed_on && says_something(stack)) {
		its.searched = stack->searched;
		its.lost = stack->lost;
	}
	for (unsigned i = 0; i < MMT_SAMPLE_STEPS; i++)
		its.steps[i] = (struct fact_step){ steps[i].at_risk, steps[i].gone, steps[i].unknown };
	recorder_put_event(r, family, &f);
}

/*
 * A stack is recorded again also if it had no more hits: one that was seen three times in the first ten
 * seconds, and not in the hours after, would otherwise be reported with 18 allocations a minute. Not each
 * time, but when the exposure of its site has become an eighth longer.
 */
static bool is_news(const struct sampling_stack *stack, const struct site_stats_sums *sums, bool all)
{
	return stack->changed ||
	       (stack->seen && (all || sums->exposed_us > stack->reported + stack->reported / 8));
}

void sampling_facts_others(struct recorder *r, const struct sampling_stacks *stacks, uint64_t now_ns)
{
	for (size_t i = 0; i < stacks->nothers; i++) {
		const struct sampling_other *other = &stacks->others[i];
		const struct fact_sample its = { .losing = other->its };
		const struct fact f = { .kind = MMT_INFO, .info = MMT_SAMPLE, .time_us = recorder_time(r, now_ns),
					.sample = { other->number, &its } };

		recorder_put_event(r, other->family, &f);
	}
}

void sampling_facts_stacks(struct recorder *r, const struct sampling_sites *sites,
			   struct sampling_stacks *stacks, uint64_t now_ns, bool all)
{
	for (size_t i = 0; i < stacks->n; i++) {
		struct sampling_stack *stack = &stacks->all[i];
		struct site_stats_sums sums;

		sampling_sites_sums(sites, &sites->all[stack->site], &sums);
		if (!is_news(stack, &sums, all))
			continue;
		put_stack(r, sites, stacks, stack, &sums, now_ns);
		stack->changed = false;
		stack->reported = sums.exposed_us;
	}
}

static bool is_known(const struct sampling_site *site)
{
	return site->role == SAMPLING_TAKES && site->number != SAMPLING_NONE;
}

static void put_duty(struct recorder *r, const struct sampling_sites *sites, uint64_t now_ns)
{
	uint64_t wall_us = recorder_time(r, now_ns), hit = 0;
	double exposed_us = 0;

	for (size_t i = 0; i < sites->n; i++) {
		struct site_stats_sums sums;

		sampling_sites_sums(sites, &sites->all[i], &sums);
		if (sites->all[i].role != SAMPLING_TAKES || !sums.hits)
			continue;
		hit++;
		/* the exposure of a short round may be longer than the round */
		exposed_us += (double)(sums.exposed_us < wall_us ? sums.exposed_us : wall_us);
	}
	if (hit && wall_us)
		recorder_count(r, wall_us, MMT_COUNT_DUTY_PPM,
			       (uint64_t)(exposed_us / (double)hit / (double)wall_us * 1e6));
}

/* Up to now, including a time that has not ended yet. */
static uint64_t up_to_now(const _Atomic uint64_t *over_ns, const _Atomic uint64_t *since_ns, uint64_t now_ns)
{
	uint64_t over = atomic_load(over_ns), since = atomic_load(since_ns);

	return over + (since && now_ns > since ? now_ns - since : 0);
}

void sampling_facts_budget(struct recorder *r, const struct sampling_sites *sites,
			   const struct sampling_rounds *rounds, const struct shared *shared,
			   const struct fact_loss *loss, uint64_t now_ns)
{
	struct fact_budget b = {
		.promise_ppm = shared->budget_ppm,
		.spent_us = atomic_load(&shared->budget.spent_ns) / 1000,
		.wall_us = recorder_time(r, now_ns),
		.worst_ppm = atomic_load(&shared->budget.worst_ten_ppm),
		.closed = atomic_load(&shared->budget.closed),
		.closed_us =
			up_to_now(&shared->budget.closed_ns, &shared->budget.closed_since_ns, now_ns) / 1000,
		.sites_settled = rounds->settled,
		.candidates = rounds->candidates,
		.unfound = sites->untrapped + sites->unfitting,
		.loss = *loss,
	};
	const struct fact f = { .kind = MMT_INFO, .info = MMT_BUDGET, .time_us = b.wall_us, .budget = &b };

	for (size_t i = 0; i < sites->n; i++) {
		b.sites += is_known(&sites->all[i]);
		b.sites_hit += is_known(&sites->all[i]) && sites->all[i].records;
	}
	recorder_put(r, &f);
	put_duty(r, sites, now_ns);
}

/* --- what was not seen --- */

/*
 * The share of allocated blocks that went to callers without a trap, from the traps where the allocators
 * themselves return, weighted by how often each of these returns.
 */
static double unknown_share(const struct sampling_sites *sites)
{
	double all = 0, unknown = 0;

	for (size_t i = 0; i < sites->n; i++) {
		const struct sampling_site *site = &sites->all[i];
		struct site_stats_sums sums;
		double rate;

		if (!sampling_sites_is_exit(site) || !site->records)
			continue;
		sampling_sites_sums(sites, site, &sums);
		rate = sums.exposed_us ? (double)sums.hits / (double)sums.exposed_us : 0;
		all += rate;
		unknown += rate * (double)site->unknown / (double)site->records;
	}
	return all > 0 ? unknown / all : 0;
}

static void note_unseen_rules(struct recorder *r, const struct sampling_sites *sites, uint64_t t)
{
	const struct planting *p = sites->planting;

	for (size_t i = 0; i < p->nrules; i++) {
		const struct rule *rule = &p->rules[i];

		if (rule->op == RULE_ALLOC && !sampling_check_can_sample(rule) &&
		    linker_binds(p->modules, rule->name))
			recorder_note(r, t,
				      "blocks that %s allocates were not seen: its result does not show "
				      "where "
				      "they are",
				      rule->name);
	}
}

/* Note how many sites there are at which no hit ever showed the caller of the function around them. */
static void note_without_caller(struct recorder *r, const struct sampling_sites *sites, uint64_t t)
{
	uint32_t n = 0;

	for (size_t i = 0; i < sites->n; i++)
		n += sites->all[i].is_cut && !sites->all[i].has_caller;
	if (n)
		recorder_note(r, t,
			      "at %" PRIu32 " allocation sites the caller of the function around them was "
			      "never seen, as too little of the stack was copied (--stack-bytes): if the "
			      "function is a wrapper, all its callers are one allocation site",
			      n);
}

void sampling_facts_notes(struct recorder *r, const struct sampling_sites *sites,
			  const struct sampling_stacks *stacks, const struct shared *shared, uint64_t now_ns)
{
	uint64_t moving_ns = up_to_now(&shared->modules.ns, &shared->modules.since_ns, now_ns);
	uint64_t t = recorder_time(r, now_ns);
	double unknown = unknown_share(sites);

	note_unseen_rules(r, sites, t);
	if (unknown >= 0.0005)
		recorder_note(r, t,
			      "about %.1f %% of the calls came from where no trap is planted behind the call (a "
			      "call through a pointer, a jump, "
			      "generated code): of these a part was seen where the allocator returns",
			      unknown * 100);
	if (moving_ns >= NOTED_MOVING_NS)
		recorder_note(r, t, "while modules came and went no trap was set anew: for %.0f s in all",
			      (double)moving_ns / 1e9);
	if (sites->untrapped)
		recorder_note(r, t, "behind %" PRIu64 " calls of allocators no trap can stand",
			      sites->untrapped);
	if (sites->unfitting)
		recorder_note(r, t, "%" PRIu64 " calls of allocators have no trap: there is room for %u",
			      sites->unfitting, SHARED_SITES);
	if (sites->unsure)
		recorder_note(r, t,
			      "%" PRIu64
			      " places look like calls of allocators, and may be none: no trap is planted there",
			      sites->unsure);
	recorder_lost(r, t, "stack not kept", stacks->stacks_without_room);
	recorder_lost(r, t, "block not followed", stacks->blocks_without_room);
	note_without_caller(r, sites, t);
}

/* SPDX-License-Identifier: MIT */
/*
 * sampling_rounds: how much of the budget each site gets, by the fates of its blocks and the rate of its
 * hits.
 */
#include "attach/sampling/sampling_rounds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define SITES 100u
#define ONE_PERCENT 10000u
#define HOT 30000		/* hits a second: more than can be paid for, but not hopeless */
#define STOP_NS 30000.0		/* the assumed cost of a hit, until it is measured */

static struct sampling_rounds rounds;
static struct sampling_sites sites;
static struct sampling_stacks stacks;
static struct link keeper;
static struct planting planting;
static struct sampling_costs costs;

/* Each site has a stack of its own. */
static int setup(void **state)
{
	(void)state;
	keeper.shared = calloc(1, sizeof(*keeper.shared));
	sites = (struct sampling_sites){ .all = calloc(SITES, sizeof(*sites.all)), .planting = &planting };
	stacks = (struct sampling_stacks){ .all = calloc(SITES, sizeof(*stacks.all)) };
	assert_true(keeper.shared && sites.all && stacks.all);
	planting.link = &keeper;
	sampling_rounds_init(&rounds, ONE_PERCENT);
	costs = (struct sampling_costs){ 0 };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(keeper.shared);
	free(sites.all);
	free(stacks.all);
	return 0;
}

/* A site that was hit @rate times a second until now. */
static struct sampling_stack *add(uint64_t rate)
{
	const uint32_t i = (uint32_t)sites.n++;

	sites.all[i] = (struct sampling_site){ .number = i, .role = SAMPLING_TAKES,
					       .before = { .hits = rate, .exposed_us = 1000000 } };
	stacks.all[stacks.n++] = (struct sampling_stack){ .site = i, .seen = rate };
	return &stacks.all[i];
}

/* @n of its blocks were tracked until they were 10 s old, and are still allocated. */
static void stay(struct sampling_stack *stack, uint64_t n)
{
	stack->old = (uint32_t)n;
	for (unsigned i = 0; survival_age_s(i) <= 10; i++)
		stack->now[i].at_risk = n;
}

/* A second later, in which @spent_ms were spent. */
static void decide_after(double spent_ms)
{
	costs.now_ns += 1000000000;
	costs.spent_ns += (uint64_t)(spent_ms * 1e6);
	sampling_rounds_decide(&rounds, &sites, &stacks, &costs);
}

/* About as much as planned was spent. */
static void decide(void)
{
	decide_after(6);
}

static void assert_meter(uint32_t i, uint32_t quota, uint32_t period_ms)
{
	assert_int_equal(sites.all[i].quota, quota);
	assert_int_equal(sites.all[i].period_ms, period_ms);
	assert_int_equal(atomic_load(&keeper.shared->meters[i].quota), quota);
	assert_int_equal(atomic_load(&keeper.shared->meters[i].period_ms), period_ms);
}

static void four_hits_a_second_at_first(void **state)
{
	(void)state;
	add(1);
	decide();
	assert_meter(0, SAMPLING_QUOTA, SAMPLING_PERIOD_MS);
	assert_int_equal(rounds.settled + rounds.candidates, 0);
}

/* A trap where malloc itself returns. */
static struct sampling_site *add_exit(void)
{
	const uint32_t i = (uint32_t)sites.n;

	add(1);
	sites.all[i].role = SAMPLING_INNER;
	sites.all[i].records = 1;
	return &sites.all[i];
}

/* All windows together may cost an eighth of what is aimed at: 64 hits of 30 us each 2.3 s at 1 %. */
static void windows_on_malloc(void **state)
{
	struct sampling_site *exit = add_exit();

	(void)state;
	decide();
	assert_meter(0, SAMPLING_WINDOW, 2304);
	add_exit();
	decide();
	assert_meter(0, SAMPLING_WINDOW, 4608);
	assert_meter(1, SAMPLING_WINDOW, 4608);
	/* one that never returns to anybody takes nothing from the other */
	sites.all[1].records = 0;
	decide();
	assert_meter(0, SAMPLING_WINDOW, 2304);
	/* one that was a candidate, with priority, is none any more */
	sampling_sites_meter(&sites, exit, 500, 2304);
	decide();
	assert_meter(0, SAMPLING_WINDOW, 2304);
	exit->ahead = true;
	decide();
	assert_false(exit->ahead);
}

/* At 0.05 % a quarter of what may be spent at once pays for 13 hits, once in nine seconds. */
static void windows_of_a_small_budget(void **state)
{
	(void)state;
	sampling_rounds_init(&rounds, 500);
	add_exit();
	decide();
	assert_meter(0, 13, 9360);
}

/* Each time that eight more blocks are freed, a round lasts twice as long, up to a minute. */
static void what_goes_is_looked_at_less(void **state)
{
	struct sampling_stack *stack = add(1);

	(void)state;
	stack->gone = 7;
	decide();
	assert_meter(0, SAMPLING_QUOTA, 1000);
	stack->gone = 8;
	decide();
	assert_meter(0, SAMPLING_QUOTA, 2000);
	assert_int_equal(rounds.settled, 0);	/* counted before it was decided */
	decide();
	assert_meter(0, SAMPLING_QUOTA, 2000);
	assert_int_equal(rounds.settled, 1);
	for (int i = 0; i < 20; i++) {
		stack->gone += 8;
		decide();
	}
	assert_meter(0, SAMPLING_QUOTA, SAMPLING_RARELY_MS);
}

/*
 * A block has become old: its site is looked at as often as at first, and settles anew when eight more are
 * freed.
 */
static void an_old_one_wakes_it(void **state)
{
	struct sampling_stack *stack = add(1);

	(void)state;
	stack->gone = 8;
	decide();
	stack->gone = 16;
	stack->old = 1;
	decide();
	assert_meter(0, SAMPLING_QUOTA, 1000);
	stack->old = 0;
	decide();
	assert_meter(0, SAMPLING_QUOTA, 1000);
	stack->gone = 24;
	decide();
	assert_meter(0, SAMPLING_QUOTA, 2000);
}

static void what_stays_is_watched_closely(void **state)
{
	struct sampling_stack *stack = add(10);

	(void)state;
	stay(stack, 2);
	decide();
	assert_int_equal(rounds.candidates, 0);
	stay(stack, 3);
	decide();
	assert_int_equal(rounds.candidates, 1);
	assert_meter(0, 0, SAMPLING_PERIOD_MS);
}

/* The process loses blocks of 40 and 216 usable bytes: which sites allocate those, on average, or nearly? */
static void what_may_lose_is_watched_closely(void **state)
{
	static const struct {
		uint64_t bytes;
		bool may_lose;
	} cases[] = { { 31, false }, { 32, true },  { 40, true },  { 48, true },
		      { 49, false }, { 224, true }, { 225, false } };
	const uint64_t sizes[] = { 40, 216 };
	const size_t n = sizeof(cases) / sizeof(cases[0]);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		struct sampling_stack *stack = add(10);

		stack->usable_bytes = stack->seen * cases[i].bytes;
	}
	add(10)->seen = 0;
	decide();
	assert_int_equal(rounds.candidates, 0);
	sampling_stacks_lost_sizes(&stacks, sizes, 2);
	decide();
	for (size_t i = 0; i < n; i++)
		assert_int_equal(sites.all[i].candidate, cases[i].may_lose);
	assert_int_equal(rounds.candidates, 4);
	sampling_stacks_lost_sizes(&stacks, sizes, 0);
	decide();
	assert_int_equal(rounds.candidates, 0);
}

/* There are old blocks, but most of them are freed. */
static void what_goes_late_is_no_candidate(void **state)
{
	struct sampling_stack *stack = add(10);

	(void)state;
	stay(stack, 100);
	stack->now[8].gone = 90;
	stack->now[9].at_risk = 10;
	decide();
	assert_int_equal(rounds.candidates, 0);
}

/* The cost of the hits of a site's rounds, as a share of the time. */
static double cost_of(uint32_t i)
{
	return sites.all[i].quota * 1000.0 / sites.all[i].period_ms * (double)rounds.stop_ns / 1e9;
}

/* What all candidates together may cost: 0.4 of the planned spending, which is two thirds of the budget. */
static const double part = 0.01 * 2 / 3 * 0.4;

static void assert_costs(uint32_t i, double share)
{
	if (cost_of(i) > 1.06 * share || cost_of(i) < 0.88 * share)
		fail_msg("site %u: %g, not %g", i, cost_of(i), share);
}

static void hot_candidates_share_their_part(void **state)
{
	(void)state;
	for (int i = 0; i < 10; i++)
		stay(add(HOT), 20);
	decide();
	assert_int_equal(rounds.candidates, 10);
	for (uint32_t i = 0; i < 10; i++) {
		assert_true(sites.all[i].quota >= 16);
		assert_costs(i, part / 10);
	}
}

/*
 * 89 hits a second can be paid for. A share is 22, and two candidates need less; that leaves 29 for each of
 * the others: one needs 28, and 31 are left for the last.
 */
/* Too few of its calls would be seen for a conclusion: another candidate gets what there is. */
static void a_site_too_hot_for_a_conclusion_is_no_candidate(void **state)
{
	(void)state;
	stay(add(100000), 20);
	stay(add(HOT), 20);
	decide();
	assert_int_equal(rounds.candidates, 1);
	assert_false(sites.all[0].ahead);
	assert_meter(0, SAMPLING_QUOTA, SAMPLING_PERIOD_MS);
	assert_true(sites.all[1].ahead);
	assert_costs(1, part);
}

static void a_site_that_needs_less_leaves_the_rest(void **state)
{
	(void)state;
	stay(add(HOT), 20);
	stay(add(10), 20);
	stay(add(20), 20);
	stay(add(28), 20);
	add(1000);	/* not a candidate */
	decide();
	assert_meter(1, 0, SAMPLING_PERIOD_MS);
	assert_meter(2, 0, SAMPLING_PERIOD_MS);
	assert_meter(3, 0, SAMPLING_PERIOD_MS);
	assert_costs(0, part - (10 + 20 + 28) * STOP_NS / 1e9);
	assert_meter(4, SAMPLING_QUOTA, SAMPLING_PERIOD_MS);
}

/* Its rounds ended with sixteen hits at once, after anything between 0 and 3 s. */
static void cut(uint32_t i)
{
	struct site_stats_sums *sums = &sites.all[i].before;

	*sums = (struct site_stats_sums){ 0 };
	for (uint64_t e = 100000; e < 3000000; e += 100000) {
		sums->rounds++;
		sums->full++;
		sums->hits += 16;
		sums->exposed_us += e;
		sums->hits2 += 16 * 16;
		sums->hits_exposed += 16 * e;
		sums->exposed2 += e * e;
	}
}

/* By that there are eleven hits a second, but the size of a bunch is unknown. The cost is the same. */
static void bunches_have_rounds_as_large_as_can_be_paid_at_once(void **state)
{
	(void)state;
	stay(add(HOT), 20);
	stay(add(HOT), 20);
	stay(add(1), 20);
	cut(1);
	decide();
	assert_costs(0, part / 2);
	assert_costs(1, part / 2);
	assert_int_equal(sites.all[0].quota, 43);			/* of a second */
	/* of ten seconds; half of the token bucket, 33 ms, would be 555 */
	assert_in_range(sites.all[1].quota, 430, 444);
	assert_in_range(sites.all[1].period_ms, 9900, 10000);
	cut(0);
	decide();
	assert_in_range(sites.all[1].quota, 270, 277);		/* half of the token bucket, for two */
	assert_in_range(sites.all[1].period_ms, 6000, 6500);
	assert_int_equal(sites.all[0].quota, sites.all[1].quota);
	/* if hardly any round is cut, all hits are seen */
	sites.all[1].before.rounds = 100 * sites.all[1].before.full;
	decide();
	assert_meter(1, 0, SAMPLING_PERIOD_MS);
}

/* With many such sites a quota is hardly more than for any candidate, and never less. */
static void bunches_do_not_wait_for_long(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 30; i++) {
		stay(add(1), 20);
		cut(i);
	}
	decide();
	for (uint32_t i = 0; i < 30; i++) {
		/* 18 hits are a thirtieth of half of the token bucket */
		assert_in_range(sites.all[i].period_ms, 5900, 6200);
		assert_costs(i, part / 30);
	}
	for (uint32_t i = 30; i < SITES; i++) {
		stay(add(1), 20);
		cut(i);
	}
	decide();
	assert_in_range(sites.all[SITES - 1].period_ms, 17500, 18500);
	assert_costs(SITES - 1, part / SITES);
}

/* The first site is hit @rate times a second for @seconds, in each of which @spent_ms are spent. */
static void go_on(uint64_t rate, unsigned seconds, double spent_ms)
{
	struct site_stats_sums *sums = &sites.all[0].before;

	for (unsigned i = 0; i < seconds; i++) {
		sums->rounds++;
		sums->hits += rate;
		sums->exposed_us += 1000000;
		sums->hits2 += rate * rate;
		sums->hits_exposed += rate * 1000000;
		sums->exposed2 += 1000000000000;
		decide_after(spent_ms);
	}
}

/*
 * Other sites use little: candidates get up to twice as much. Then so much is used that it is taken from them
 * again.
 */
static void what_others_leave_is_the_candidates(void **state)
{
	(void)state;
	stay(add(HOT), 20);
	go_on(HOT, 1, 6);
	assert_costs(0, part);
	go_on(HOT, 20, 3);
	assert_costs(0, part * 1.25 * 1.25);
	go_on(HOT, 100, 3);
	assert_costs(0, part * 2);
	go_on(HOT, 100, 6);
	assert_costs(0, part * 2);
	go_on(HOT, 100, 6.5);
	assert_costs(0, part);
}

/* No site wants more, or there is no candidate that could. */
static void unused_budget_is_not_reserved_for_candidates(void **state)
{
	(void)state;
	stay(add(10), 20);
	go_on(10, 100, 1);
	go_on(HOT, 1, 1);
	assert_true(rounds.wanted);
	assert_costs(0, part);
	go_on(HOT, 100, 3);
	assert_costs(0, part * 2);
	stacks.all[0].old = 0;
	go_on(HOT, 20, 3);
	stay(&stacks.all[0], 20);
	decide();
	assert_costs(0, part);
}

/* It was idle, and becomes hot; then it is idle again. */
static void what_was_half_an_hour_ago_does_not_matter(void **state)
{
	(void)state;
	stay(add(0), 20);
	go_on(0, 1800, 6);
	assert_meter(0, 0, SAMPLING_PERIOD_MS);
	go_on(200, 10, 6);
	assert_costs(0, part);
	go_on(0, 30, 6);
	assert_meter(0, 0, SAMPLING_PERIOD_MS);
}

/*
 * A round of this site is longer than the time that is evaluated: that there is no news of it does not mean
 * that it is idle.
 */
static void nothing_new_is_not_nothing(void **state)
{
	(void)state;
	for (unsigned i = 0; i < SITES; i++) {
		stay(add(1), 20);
		cut(i);
	}
	for (unsigned i = 0; i < 60; i++) {
		decide();
		assert_costs(0, part / SITES);
	}
}

/* When its counts were first read, the number of its trap still had another trap's counts. */
static void what_was_counted_of_others_is_forgotten(void **state)
{
	(void)state;
	stay(add(0), 20);
	sites.all[0].before = (struct site_stats_sums){ .rounds = 1000, .hits = 1000, .exposed_us = 1 };
	for (unsigned i = 0; i < 11; i++)
		decide();
	sites.all[0].before = (struct site_stats_sums){ 0 };
	go_on(1, 30, 6);
	assert_meter(0, 0, SAMPLING_PERIOD_MS);
	assert_in_range((uint64_t)(100 * sites.all[0].needs), 99, 101);
}

/* A share that grows a little each second is not set each second. */
static void a_quota_is_not_changed_for_little(void **state)
{
	uint32_t quota, period_ms;

	(void)state;
	for (int i = 0; i < 10; i++)
		stay(add(HOT), 20);
	decide();
	quota = sites.all[0].quota;
	period_ms = sites.all[0].period_ms;
	stacks.all[9].old = 0;
	decide();
	assert_int_equal(rounds.candidates, 9);
	assert_meter(0, quota, period_ms);
	for (uint32_t i = 2; i < 9; i++)
		stacks.all[i].old = 0;
	decide();
	assert_true(cost_of(0) > 2 * quota * 1000.0 / period_ms * STOP_NS / 1e9);
}

/*
 * How long their rounds really are is up to the keeper (keeper/budget/round_queue.h), which knows what they
 * cost. Candidates have priority.
 */
static void only_candidates_go_ahead(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < SITES; i++)
		add(1000);
	stay(&stacks.all[7], 20);
	decide();
	for (uint32_t i = 0; i < SITES; i++) {
		assert_int_equal(atomic_load(&keeper.shared->meters[i].ahead), i == 7);
		if (i != 7)
			assert_meter(i, SAMPLING_QUOTA, SAMPLING_PERIOD_MS);
	}
	stacks.all[7].old = 0;
	decide();
	assert_int_equal(atomic_load(&keeper.shared->meters[7].ahead), 0);
}

static void what_a_hit_costs_is_learned(void **state)
{
	(void)state;
	add(1);
	decide();
	assert_int_equal(rounds.stop_ns, STOP_NS);
	costs.stop_ns = 70000;
	decide();
	assert_int_equal(rounds.stop_ns, 70000);
	costs.stop_ns = 0;
	decide();
	assert_int_equal(rounds.stop_ns, 70000);
}

/* The settings of a trial are left to the trial; and without a trap nothing is set. */
static void others_are_left_alone(void **state)
{
	(void)state;
	add(1);
	add(1);
	sites.all[0].role = SAMPLING_TRIAL;
	sites.all[1].number = SAMPLING_NONE;
	stay(&stacks.all[1], 20);
	decide();
	assert_int_equal(rounds.candidates, 0);
	for (uint32_t i = 0; i < 2; i++)
		assert_meter(i, 0, 0);
}

int main(void)
{
#define rounds_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		rounds_test(windows_on_malloc),
		rounds_test(windows_of_a_small_budget),
		rounds_test(four_hits_a_second_at_first),
		rounds_test(what_goes_is_looked_at_less),
		rounds_test(an_old_one_wakes_it),
		rounds_test(what_stays_is_watched_closely),
		rounds_test(what_may_lose_is_watched_closely),
		rounds_test(what_goes_late_is_no_candidate),
		rounds_test(hot_candidates_share_their_part),
		rounds_test(a_site_too_hot_for_a_conclusion_is_no_candidate),
		rounds_test(a_site_that_needs_less_leaves_the_rest),
		rounds_test(bunches_have_rounds_as_large_as_can_be_paid_at_once),
		rounds_test(bunches_do_not_wait_for_long),
		rounds_test(what_others_leave_is_the_candidates),
		rounds_test(unused_budget_is_not_reserved_for_candidates),
		rounds_test(nothing_new_is_not_nothing),
		rounds_test(what_was_counted_of_others_is_forgotten),
		rounds_test(what_was_half_an_hour_ago_does_not_matter),
		rounds_test(a_quota_is_not_changed_for_little),
		rounds_test(only_candidates_go_ahead),
		rounds_test(what_a_hit_costs_is_learned),
		rounds_test(others_are_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

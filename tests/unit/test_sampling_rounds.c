/* SPDX-License-Identifier: MIT */
/* sampling_rounds: how much of the budget each site gets, by what its blocks have done and how often it is hit. */
#include "attach/sampling_rounds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define SITES 100u
#define ONE_PERCENT 10000u
#define STOP_NS 30000.0		/* what a hit costs as long as nobody knows */

static struct sampling_rounds rounds;
static struct sampling_sites sites;
static struct sampling_stacks stacks;
static struct link keeper;
static struct planting planting;

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

	sites.all[i] = (struct sampling_site){ .number = i, .role = SAMPLING_TAKES, .before = { .hits = rate, .exposed_us = 1000000 } };
	stacks.all[stacks.n++] = (struct sampling_stack){ .site = i, .seen = rate };
	return &stacks.all[i];
}

/* @n of its blocks were followed until they were 10 s old, and are still there. */
static void stay(struct sampling_stack *stack, uint64_t n)
{
	stack->old = (uint32_t)n;
	for (unsigned i = 0; survival_age_s(i) <= 10; i++)
		stack->now[i].at_risk = n;
}

static void decide(void)
{
	sampling_rounds_decide(&rounds, &sites, &stacks, 0);
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

/* Each time that eight more have gone a round is twice as long; a minute is the most. */
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

/* One that has become old: it is looked at as often as at first, and settles anew when eight more have gone. */
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

/* Old ones are there, but most of such go. */
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

/* What a site's rounds let through costs, of all the time. */
static double cost_of(uint32_t i)
{
	return sites.all[i].quota * 1000.0 / sites.all[i].period_ms * (double)rounds.stop_ns / 1e9;
}

/* All candidates have an equal share of 0.4 of what is aimed at, which is two thirds. */
static void hot_candidates_share_their_part(void **state)
{
	const double part = 0.01 * 2 / 3 * 0.4;

	(void)state;
	for (int i = 0; i < 10; i++)
		stay(add(i < 9 ? 100000 : 1), 20);
	decide();
	assert_int_equal(rounds.candidates, 10);
	for (uint32_t i = 0; i < 9; i++) {
		assert_true(sites.all[i].quota >= 16);
		assert_true(cost_of(i) <= 1.01 * part / 10 && cost_of(i) > 0.9 * part / 10);
	}
	assert_meter(9, 0, SAMPLING_PERIOD_MS);
}

/* A share that is a little larger each second is not set each second: each change ends a round. */
static void a_quota_is_not_changed_for_little(void **state)
{
	uint32_t quota, period_ms;

	(void)state;
	for (int i = 0; i < 10; i++)
		stay(add(100000), 20);
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

/* How long their rounds really are is the keeper's matter (keeper/turns.h), which knows what they cost. Candidates go ahead. */
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
	sampling_rounds_decide(&rounds, &sites, &stacks, 70000);
	assert_int_equal(rounds.stop_ns, 70000);
	decide();
	assert_int_equal(rounds.stop_ns, 70000);
}

/* A trial's is the trial's, and where nobody stands nothing is set. */
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
		rounds_test(four_hits_a_second_at_first),
		rounds_test(what_goes_is_looked_at_less),
		rounds_test(an_old_one_wakes_it),
		rounds_test(what_stays_is_watched_closely),
		rounds_test(what_goes_late_is_no_candidate),
		rounds_test(hot_candidates_share_their_part),
		rounds_test(a_quota_is_not_changed_for_little),
		rounds_test(only_candidates_go_ahead),
		rounds_test(what_a_hit_costs_is_learned),
		rounds_test(others_are_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* budget: when a thread may be held, and what is kept in reserve. What stops cost by the kernel's account is tests/live/test_budget.py's. */
#include "attach/keeper/budget.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/keeper/state.h"

#define MS 1000000ull
#define PROMISE_NS (100 * MS)	/* 1 % of ten seconds */

static const struct latency latency = { .wake_ns = 40000, .restart_ns = 20000, .cpu_ns = 10000 };
static struct keeper *k;

static void begin(uint32_t ppm)
{
	k->shared->budget_ppm = ppm;
	k->shared->hold_ns = 1000 * MS;
	budget_init(k);
	close(k->budget.schedstat);
	/* not this machine's, which are ten times as long on some */
	k->budget.latency = latency;
	k->budget.meters_ns = latency.wake_ns + latency.restart_ns;
	k->budget.most_burst_ns = 8 * k->budget.meters_ns;
}

static int setup(void **state)
{
	sigset_t chld;

	(void)state;
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, NULL);
	k = calloc(1, sizeof(*k));
	assert_non_null(k);
	k->shared = calloc(1, sizeof(*k->shared));
	assert_non_null(k->shared);
	begin(10000);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(k->shared);
	free(k);
	return 0;
}

static void charge(uint64_t ns, enum budget_for what)
{
	budget_charge(k, keeper_clock_ns() - ns, what);
}

static uint32_t left_for_holds(void)
{
	uint32_t n = 0;

	while (budget_may_hold(k) && n < 100) {
		k->held++;
		n++;
	}
	k->held = 0;
	return n;
}

/* So many as could all last to their ends. */
static void holds_have_a_purse(void **state)
{
	uint32_t n = left_for_holds();

	(void)state;
	assert_int_equal(k->budget.hold_ns, PROMISE_NS / BUDGET_HOLDS / 3 / 3);
	assert_int_equal(n, 2);	/* and what it takes to wake up */
	charge(3 * MS, BUDGET_ASKED);
	assert_int_equal(left_for_holds(), 1);
	charge(5 * MS, BUDGET_ASKED);
	assert_int_equal(left_for_holds(), 0);
	assert_true(k->budget.open);
	assert_false(budget_round(k));	/* the others have theirs */
	assert_in_range(atomic_load(&k->shared->held_ns), 8 * MS, 9 * MS);
}

static void holds_are_as_short_as_the_promise_is_small(void **state)
{
	(void)state;
	begin(1000);
	assert_in_range(k->budget.hold_ns, 200000, PROMISE_NS / 10 / BUDGET_HOLDS / 9);
	assert_true(left_for_holds() >= 1);
	begin(100000);
	assert_int_equal(k->budget.hold_ns, BUDGET_HOLD_NS);
}

static void no_hold_when_little_is_left(void **state)
{
	(void)state;
	charge(28 * MS, BUDGET_METERS);	/* of the 33 in the purse */
	budget_calm(k, 1);
	k->budget.most_burst_ns = MS;
	assert_false(budget_round(k));
	assert_int_equal(left_for_holds(), 1);
	charge(2 * MS, BUDGET_METERS);
	assert_int_equal(left_for_holds(), 0);
}

/* What is under way will be paid for: so it closes sooner. */
static void holds_under_way_are_in_the_reserve(void **state)
{
	(void)state;
	charge(30 * MS, BUDGET_METERS);
	k->budget.most_burst_ns = MS;
	assert_false(budget_round(k));
	k->held = 1;
	assert_true(budget_round(k));
	assert_false(k->budget.open);
	k->held = 0;
	assert_int_equal(left_for_holds(), 0);
}

/* For a hit that somebody wishes to see; what must have an answer waits longer. */
static void how_long_one_waits(void **state)
{
	struct tracee wished = { .for_stack = true }, exec = { 0 };

	(void)state;
	assert_int_equal(budget_patience_ns(k, &wished), k->budget.hold_ns);
	assert_int_equal(budget_patience_ns(k, &exec), k->shared->hold_ns);
	k->budget.open = false;
	assert_int_equal(budget_patience_ns(k, &wished), 0);
	assert_int_equal(budget_patience_ns(k, &exec), k->shared->hold_ns);
}

/* Near to the promise it is closed with so much left that a delay like no other before fits in. */
static void a_margin_is_left(void **state)
{
	(void)state;
	k->budget.spending.purse_ns = (int64_t)PROMISE_NS;	/* it is not the purse that closes */
	k->budget.spending.purse_most_ns = (int64_t)PROMISE_NS;
	k->budget.most_burst_ns = MS;
	charge(88 * MS, BUDGET_METERS);
	k->budget.most_burst_ns = MS;
	assert_false(budget_round(k));
	charge(3 * MS, BUDGET_METERS);
	assert_true(budget_round(k));
	assert_in_range(k->budget.spending.had.sum_ns, 91 * MS, 93 * MS);
}

/* Who ran into traps before they were lifted is what the next closing has to leave room for. */
static void what_comes_after_closing_is_remembered(void **state)
{
	(void)state;
	charge(34 * MS, BUDGET_METERS);
	assert_true(budget_round(k));
	k->budget.burst_ns = k->budget.most_burst_ns = 0;
	for (int i = 0; i < 10; i++) {
		charge(MS, BUDGET_METERS);
		budget_calm(k, 1);
	}
	charge(20 * MS, BUDGET_ATTACHED);	/* closing would not have spared it */
	k->budget.burst_ns = 0;
	k->budget.spending.purse_ns = k->budget.spending.purse_most_ns;
	assert_true(budget_round(k));
	assert_true(k->budget.open);
	assert_in_range(k->budget.most_burst_ns, 10 * MS, 15 * MS);
}

int main(void)
{
#define budget_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		budget_test(holds_have_a_purse),
		budget_test(holds_are_as_short_as_the_promise_is_small),
		budget_test(no_hold_when_little_is_left),
		budget_test(holds_under_way_are_in_the_reserve),
		budget_test(how_long_one_waits),
		budget_test(a_margin_is_left),
		budget_test(what_comes_after_closing_is_remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

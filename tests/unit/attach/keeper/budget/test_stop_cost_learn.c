/* SPDX-License-Identifier: MIT */
/*
 * stop_cost_learn: stop costs are learned only from threads that had a single slice between two stops. A row
 * of `make bench` shows how exact they are.
 */
#include "attach/keeper/budget/stop_cost_learn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define US 1000ull
#define MS 1000000ull

static const struct stop_cost calibrated = {
	.wake_ns = 30 * US, .restart_ns = 20 * US, .still_ns = 25 * US, .cpu_ns = 20 * US,
};
static struct stop_cost_learn s;
static struct stop_cost now;
static uint64_t clock_ns;
static struct procfs_slices slices;

static int setup(void **state)
{
	(void)state;
	stop_cost_learn_begin(&s, &calibrated);
	now = calibrated;
	clock_ns = 1000 * MS;
	slices = (struct procfs_slices){ .ran_ns = 5 * MS, .waited_ns = 7 * MS, .n = 3 };
	return 0;
}

/* @tid stops, and is the thread that is chosen. */
static void stops(pid_t tid)
{
	s.skipped = 100;
	assert_true(stop_cost_learn_wants(&s, tid));
	stop_cost_learn_stopped(&s, tid, &slices, clock_ns, &now);
}

/* It is resumed, runs for @ran_ns in @n slices, and is seen stopped after @still_ns of other time in all. */
static void runs(pid_t tid, uint64_t ran_ns, uint64_t waited_ns, uint64_t still_ns, uint64_t n)
{
	stop_cost_learn_resumed(&s, tid, clock_ns);
	clock_ns += ran_ns + waited_ns + still_ns;
	slices = (struct procfs_slices){ slices.ran_ns + ran_ns, slices.waited_ns + waited_ns, slices.n + n };
}

static void often(unsigned times, uint64_t ran_ns, uint64_t still_ns)
{
	for (unsigned i = 0; i < times; i++) {
		stops(7);
		runs(7, ran_ns, 300 * US, still_ns, 1);
	}
	stops(7);
}

static void at_first_it_is_what_the_child_has_shown(void **state)
{
	(void)state;
	stops(7);
	assert_int_equal(now.wake_ns, calibrated.wake_ns);
	assert_int_equal(now.restart_ns, calibrated.restart_ns);
}

/* Both ends grow in proportion to the time between them. */
static void it_becomes_what_threads_show(void **state)
{
	(void)state;
	often(1, 200 * US, 45 * US);
	assert_in_range(now.wake_ns, 31 * US, 33 * US);
	often(200, 200 * US, 45 * US);
	assert_in_range(now.wake_ns, 52 * US, 54 * US);
	assert_in_range(now.restart_ns, 34 * US, 36 * US);
	assert_int_equal(now.cpu_ns, calibrated.cpu_ns);
	often(200, 200 * US, 30 * US);
	assert_in_range(now.wake_ns, 35 * US, 37 * US);
}

static void but_never_less_than_the_child(void **state)
{
	(void)state;
	often(200, 200 * US, 5 * US);
	assert_int_equal(now.wake_ns, calibrated.wake_ns);
	assert_int_equal(now.restart_ns, calibrated.restart_ns);
	/* nor does this effect last */
	often(1000, 200 * US, 0);
	often(200, 200 * US, 45 * US);
	assert_in_range(now.wake_ns, 52 * US, 54 * US);
}

/* If most of a stop is the thread's own CPU time, a little more of the rest does not multiply the whole. */
static void what_cannot_be_seen_grows_no_more_than_the_rest(void **state)
{
	const struct stop_cost busy = {
		.wake_ns = 6 * US, .restart_ns = 4 * US, .still_ns = US, .cpu_ns = 8 * US,
	};

	(void)state;
	stop_cost_learn_begin(&s, &busy);
	now = busy;
	often(500, 10 * US, 3 * US);
	assert_in_range(now.wake_ns + now.restart_ns, 13 * US, 14 * US);
}

static void nor_more_than_it_could_be(void **state)
{
	(void)state;
	often(1, 200 * US, 3 * MS);
	assert_in_range(now.wake_ns, 38 * US, 42 * US);
	often(1000, 200 * US, 3 * MS);
	assert_in_range(now.wake_ns, 118 * US, 120 * US);
}

/* If a thread waits for our own processor, its wait begins before we record that it was resumed. */
static void less_than_nothing_is_nothing(void **state)
{
	(void)state;
	stops(7);
	stop_cost_learn_resumed(&s, 7, clock_ns);
	clock_ns += 100 * US;
	slices.waited_ns += 400 * US;
	slices.n++;
	stops(7);
	assert_in_range(s.mean_ns, 22 * US, 23 * US);	/* the mean of eight times 25, and once 0 */
}

static void assert_nothing_learned(void)
{
	assert_int_equal(s.mean_ns, calibrated.still_ns);
	assert_int_equal(now.wake_ns, calibrated.wake_ns);
}

static void who_has_slept_or_was_displaced_says_nothing(void **state)
{
	(void)state;
	stops(7);
	runs(7, 200 * US, 0, 900 * US, 2);
	stops(7);
	assert_nothing_learned();
	/* it was not resumed, and stops again: killed */
	runs(7, 0, 0, 900 * US, 0);
	stops(7);
	assert_nothing_learned();
}

static void nor_who_ran_for_long(void **state)
{
	(void)state;
	stops(7);
	runs(7, 501 * US, 0, 90 * US, 1);
	stops(7);
	assert_nothing_learned();
}

static void nor_a_stop_that_nobody_knows_the_moment_of(void **state)
{
	(void)state;
	stops(7);
	runs(7, 200 * US, 0, 90 * US, 1);
	assert_true(stop_cost_learn_wants(&s, 7));
	stop_cost_learn_stopped(&s, 7, &slices, 0, &now);
	assert_nothing_learned();
	/* it was resumed in another way than by us */
	stops(7);
	clock_ns += 290 * US;
	slices.ran_ns += 200 * US;
	slices.n++;
	stops(7);
	assert_nothing_learned();
	/* and a clock that goes backwards */
	runs(7, 200 * US, 0, 90 * US, 1);
	clock_ns -= MS;
	stops(7);
	assert_nothing_learned();
}

static void nor_another_thread(void **state)
{
	(void)state;
	stops(7);
	runs(7, 200 * US, 0, 90 * US, 1);
	stops(8);
	assert_nothing_learned();
	/* now this thread is the chosen one */
	stop_cost_learn_resumed(&s, 7, clock_ns);
	assert_int_equal(s.on_ns, 0);
	runs(8, 200 * US, 0, 90 * US, 1);
	stops(8);
	assert_in_range(s.mean_ns, 26 * US, 50 * US);
}

/* One stop in eight, and its next one. */
static void few_are_asked(void **state)
{
	unsigned asked = 0;

	(void)state;
	for (unsigned i = 0; i < 90; i++) {
		if (stop_cost_learn_wants(&s, 7)) {
			asked++;
			stop_cost_learn_stopped(&s, 7, &slices, clock_ns, &now);
		}
		runs(7, 200 * US, 0, 45 * US, 1);
	}
	assert_in_range(asked, 18, 24);
	assert_in_range(now.wake_ns, 35 * US, 50 * US);
}

/* If no child could be measured, there is nothing to compare with. */
static void not_where_there_was_a_guess(void **state)
{
	const struct stop_cost guess = { .wake_ns = 40 * US, .restart_ns = 20 * US, .cpu_ns = 10 * US };

	(void)state;
	stop_cost_learn_begin(&s, &guess);
	for (unsigned i = 0; i < 20; i++)
		assert_false(stop_cost_learn_wants(&s, 7));
}

int main(void)
{
#define standing_test(f) cmocka_unit_test_setup(f, setup)
	const struct CMUnitTest tests[] = {
		standing_test(at_first_it_is_what_the_child_has_shown),
		standing_test(it_becomes_what_threads_show),
		standing_test(but_never_less_than_the_child),
		standing_test(what_cannot_be_seen_grows_no_more_than_the_rest),
		standing_test(nor_more_than_it_could_be),
		standing_test(less_than_nothing_is_nothing),
		standing_test(who_has_slept_or_was_displaced_says_nothing),
		standing_test(nor_who_ran_for_long),
		standing_test(nor_a_stop_that_nobody_knows_the_moment_of),
		standing_test(nor_another_thread),
		standing_test(few_are_asked),
		standing_test(not_where_there_was_a_guess),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

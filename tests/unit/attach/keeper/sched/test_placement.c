/* SPDX-License-Identifier: MIT */
/*
 * placement: on which processor the keeper runs, and when it may spin. A busy child plays the thread that
 * hits; the test sets time and stops.
 */
#include "attach/keeper/sched/placement.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/keeper/procfs.h"

#define START 1000000000ull
#define ROUND_NS 50000ull

static struct threads table;
static struct placement placement;
static cpu_set_t allowed;
static pid_t child;
static uint64_t now_ns, stops;

static void put_on(pid_t pid, int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(pid, sizeof(one), &one), 0);
	while (pid && procfs_processor(pid) != cpu)
		usleep(1000);
}

static int begin(void **state)
{
	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
	child = fork();
	if (child == 0)
		for (;;)
			;
	memset(&table, 0, sizeof(table));
	threads_add(&table, child);
	now_ns = START;
	stops = 0;
	placement_init(&placement, now_ns);
	return 0;
}

static int end(void **state)
{
	(void)state;
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_int_equal(sched_setaffinity(0, sizeof(allowed), &allowed), 0);
	return 0;
}

static bool have_two(void)
{
	return CPU_ISSET(0, &allowed) && CPU_ISSET(1, &allowed);
}

/* Rounds of the keeper for @ns, with @free stops in each, or @near if it runs near the thread. */
static void run(uint64_t ns, unsigned int free, unsigned int near)
{
	for (uint64_t until = now_ns + ns; now_ns < until; now_ns += ROUND_NS) {
		stops += placement.near >= 0 ? near : free;
		threads_mark_active(&table, threads_find(&table, child), now_ns);
		placement_round(&placement, &table, now_ns, stops);
	}
}

static void no_spinning_on_the_processor_of_the_thread(void **state)
{
	(void)state;
	placement.off = false;
	placement.threads_cpu = -1;
	assert_true(placement_may_spin(&placement));
	put_on(0, sched_getcpu());
	placement.threads_cpu = sched_getcpu();
	assert_false(placement_may_spin(&placement));
	placement.threads_cpu++;
	assert_true(placement_may_spin(&placement));
	placement.near = sched_getcpu();
	assert_false(placement_may_spin(&placement));
}

static void one_processor(void **state)
{
	(void)state;
	placement.off = true;
	assert_false(placement_may_spin(&placement));
	run(5000000000, 1, 2);
	assert_int_equal(placement.near, -1);
}

static void goes_where_the_thread_is_if_that_pays(void **state)
{
	(void)state;
	if (!have_two())
		skip();
	put_on(child, 1);
	run(1000000000, 1, 2);
	assert_int_equal(placement.near, 1);
	assert_int_equal(sched_getcpu(), 1);
	/* and it stays there, trial by trial, each after twice the time */
	run(10000000000, 1, 2);
	assert_int_equal(placement.near, 1);
	assert_true(placement.every_ns >= 4000000000);
}

static void stays_free_where_that_pays(void **state)
{
	cpu_set_t now;

	(void)state;
	if (!have_two())
		skip();
	put_on(child, 1);
	run(10000000000, 2, 1);
	assert_int_equal(placement.near, -1);
	assert_int_equal(sched_getaffinity(0, sizeof(now), &now), 0);
	assert_true(CPU_EQUAL(&now, &allowed));
	assert_true(placement.every_ns >= 4000000000);
}

static void goes_back_when_it_no_longer_pays(void **state)
{
	(void)state;
	if (!have_two())
		skip();
	put_on(child, 1);
	run(1000000000, 1, 2);
	assert_int_equal(placement.near, 1);
	run(10000000000, 2, 1);
	assert_int_equal(placement.near, -1);
	run(10000000000, 1, 2);
	assert_int_equal(placement.near, 1);
}

static void leaves_with_the_thread(void **state)
{
	(void)state;
	if (!have_two())
		skip();
	put_on(child, 1);
	run(1000000000, 1, 2);
	assert_int_equal(placement.near, 1);
	put_on(child, 0);
	run(30000000, 1, 2);
	assert_int_equal(placement.near, -1);
	run(2000000000, 1, 2);
	assert_int_equal(placement.near, 0);
}

/* mmattach does not use a processor outside of its affinity. */
static void only_processors_of_its_own(void **state)
{
	(void)state;
	if (!have_two())
		skip();
	put_on(0, 0);
	put_on(child, 1);
	run(5000000000, 1, 2);
	assert_int_equal(placement.near, -1);
	assert_int_equal(sched_getcpu(), 0);
}

/* If a CPU quota is used up, nothing runs for most of the time, near or free. */
static void gaps_count_for_neither(void **state)
{
	(void)state;
	if (!have_two())
		skip();
	put_on(child, 1);
	for (int i = 0; i < 40; i++) {
		run(50000000, 1, 2);
		now_ns += 50000000;
	}
	assert_int_equal(placement.near, 1);
	assert_false(placement_counts(50000000));
	assert_true(placement_counts(ROUND_NS));
}

static void few_stops_decide_nothing(void **state)
{
	(void)state;
	if (!have_two())
		skip();
	put_on(child, 1);
	for (int i = 0; i < 1000; i++) {
		run(ROUND_NS, 1, 2);
		now_ns += 5000000;
	}
	assert_int_equal(placement.near, -1);
}

static void noise_changes_nothing(void **state)
{
	const struct placement_rate a = { 1000, 1000000 }, little_more = { 1100, 1000000 },
				    more = { 1200, 1000000 };

	(void)state;
	assert_false(placement_prefers_near(&a, &little_more, false));
	assert_true(placement_prefers_near(&a, &more, false));
	assert_true(placement_prefers_near(&little_more, &a, true));
	assert_false(placement_prefers_near(&more, &a, true));
	/* as many stops in less time */
	assert_true(placement_prefers_near(&a, &(struct placement_rate){ 1000, 500000 }, false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(no_spinning_on_the_processor_of_the_thread, begin, end),
		cmocka_unit_test_setup_teardown(one_processor, begin, end),
		cmocka_unit_test_setup_teardown(goes_where_the_thread_is_if_that_pays, begin, end),
		cmocka_unit_test_setup_teardown(stays_free_where_that_pays, begin, end),
		cmocka_unit_test_setup_teardown(goes_back_when_it_no_longer_pays, begin, end),
		cmocka_unit_test_setup_teardown(leaves_with_the_thread, begin, end),
		cmocka_unit_test_setup_teardown(only_processors_of_its_own, begin, end),
		cmocka_unit_test_setup_teardown(gaps_count_for_neither, begin, end),
		cmocka_unit_test_setup_teardown(few_stops_decide_nothing, begin, end),
		cmocka_unit_test(noise_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

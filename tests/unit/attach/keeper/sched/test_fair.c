/* SPDX-License-Identifier: MIT */
/* fair: which thread waits for which, and for how long at most. */
#include "attach/keeper/sched/fair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define START 1000000000ull

static struct threads table;
static struct fair fair;

/*
 * Threads 1, 2, ... with as many hits as in @hits, in a window of their own; after it the next window
 * begins.
 */
static void after_a_window(int n, const unsigned hits[])
{
	memset(&table, 0, sizeof(table));
	fair = (struct fair){ .processors = 2, .least = UINT32_MAX };
	for (int i = 0; i < n; i++)
		for (unsigned j = 0; j < hits[i]; j++)
			threads_mark_active(&table, threads_add(&table, i + 1), START);
	fair_begin_round(&fair, &table, START);
}

static struct tracee *thread_with(pid_t tid, uint32_t hits)
{
	struct tracee *t = threads_find(&table, tid);

	t->window_hits = hits;
	t->seen_ns = START;
	t->state = TRACEE_STOPPED;
	return t;
}

static bool keeps(struct tracee *t, uint64_t after_ns)
{
	fair_begin_round(&fair, &table, START + after_ns);
	return fair_must_wait(&fair, t, START + after_ns);
}

static void the_one_in_front_waits(void **state)
{
	const unsigned alike[] = { 100, 90, 80 };

	(void)state;
	after_a_window(3, alike);
	for (pid_t tid = 1; tid <= 3; tid++)
		thread_with(tid, 10);
	assert_false(keeps(threads_find(&table, 1), 1));
	assert_false(keeps(thread_with(1, 10 + FAIR_LEAD), 1));
	assert_true(keeps(thread_with(1, 11 + FAIR_LEAD), 1));
	/* until the last one has caught up */
	thread_with(2, 11);
	assert_true(keeps(threads_find(&table, 1), 2));
	thread_with(3, 11);
	assert_false(keeps(threads_find(&table, 1), 3));
}

static void no_thread_waits_with_enough_processors(void **state)
{
	const unsigned alike[] = { 100, 100, 100 };

	(void)state;
	after_a_window(2, alike);
	assert_false(keeps(thread_with(1, 1000), 1));
	after_a_window(3, alike);
	assert_true(keeps(thread_with(1, 1000), 1));
	fair.processors = 3;
	assert_false(keeps(thread_with(1, 1000), 1));
}

static void slow_by_themselves_are_not_waited_for(void **state)
{
	const unsigned slow[] = { 100, 100, 24 }, peer[] = { 100, 100, 25 };

	(void)state;
	after_a_window(3, slow);
	thread_with(2, 1000);
	assert_false(keeps(thread_with(1, 1000), 1));
	after_a_window(3, peer);
	thread_with(2, 1000);
	assert_true(keeps(thread_with(1, 1000), 1));
}

static void those_who_cannot_come_are_not_waited_for(void **state)
{
	const unsigned alike[] = { 100, 100, 100 };
	const uint8_t away[] = { TRACEE_HELD, TRACEE_LISTENING };

	(void)state;
	for (int i = 0; i < 2; i++) {
		after_a_window(3, alike);
		thread_with(2, 1000);
		assert_true(keeps(thread_with(1, 1000), 1));
		threads_find(&table, 3)->state = away[i];
		assert_false(keeps(threads_find(&table, 1), 1));
	}
	/* the other threads are dead */
	after_a_window(3, alike);
	threads_remove(&table, threads_find(&table, 3));
	thread_with(2, 1000);
	assert_false(keeps(thread_with(1, 1000), 1));
}

static void a_wait_is_short(void **state)
{
	const unsigned alike[] = { 100, 100, 100 };

	(void)state;
	after_a_window(3, alike);
	assert_true(keeps(thread_with(1, 1000), FAIR_WAIT_NS - 1));
	assert_false(keeps(thread_with(1, 1000), FAIR_WAIT_NS));
}

static void a_thread_has_half_of_its_time(void **state)
{
	const unsigned alike[] = { 100, 100, 100 };
	struct tracee *t;
	uint64_t now = 0, peers_ns = 0;

	(void)state;
	after_a_window(3, alike);
	/* each hit waits as long as it may, one after the other */
	while (now < FAIR_WINDOW_NS - 1) {
		uint64_t seen = now;

		for (pid_t tid = 1; tid <= 3; tid++)
			threads_mark_active(&table, threads_find(&table, tid), START + now);
		t = thread_with(1, 1000);
		t->seen_ns = START + seen;
		while (now < FAIR_WINDOW_NS - 1 && keeps(t, now))
			now += 1000;
		peers_ns += now - seen;
		fair_served(t, START + now);
		now += 1000;
	}
	assert_in_range(peers_ns, FAIR_WINDOW_NS / 2 - 2000, FAIR_WINDOW_NS / 2);
}

static void a_new_window_forgets(void **state)
{
	const unsigned alike[] = { 100, 100, 100 };

	(void)state;
	after_a_window(3, alike);
	thread_with(2, 900);
	thread_with(3, 800);
	for (pid_t tid = 1; tid <= 3; tid++)
		threads_find(&table, tid)->last_hit_ns = START + FAIR_WINDOW_NS;
	threads_find(&table, 1)->window_hits = 1000;
	threads_find(&table, 1)->peers_ns = FAIR_WINDOW_NS;
	fair_begin_round(&fair, &table, START + FAIR_WINDOW_NS);
	assert_int_equal(fair.most_before, 1000);
	assert_int_equal(fair.least, 0);
	assert_int_equal(threads_find(&table, 1)->hits_before, 1000);
	assert_int_equal(threads_find(&table, 1)->window_hits, 0);
	assert_int_equal(threads_find(&table, 1)->peers_ns, 0);
}

static void a_newcomer_starts_at_nothing(void **state)
{
	const unsigned alike[] = { 100, 100, 100 };
	struct tracee *t;

	(void)state;
	after_a_window(3, alike);
	for (pid_t tid = 1; tid <= 3; tid++)
		thread_with(tid, 500);
	/* it does not count before it has had a window */
	t = threads_add(&table, 4);
	threads_mark_active(&table, t, START);
	assert_int_equal(t->window_hits, 1);
	assert_false(keeps(threads_find(&table, 1), 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_one_in_front_waits),
		cmocka_unit_test(no_thread_waits_with_enough_processors),
		cmocka_unit_test(slow_by_themselves_are_not_waited_for),
		cmocka_unit_test(those_who_cannot_come_are_not_waited_for),
		cmocka_unit_test(a_wait_is_short),
		cmocka_unit_test(a_thread_has_half_of_its_time),
		cmocka_unit_test(a_new_window_forgets),
		cmocka_unit_test(a_newcomer_starts_at_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

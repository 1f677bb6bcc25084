/* SPDX-License-Identifier: MIT */
/* site_stats: sums over exposure intervals, read while they are written. */
#include "attach/keeper/budget/site_stats.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void sums(void **state)
{
	struct site_stats m = { .quota = 4, .period_ms = 1000 };
	struct site_stats_sums s;

	(void)state;
	site_stats_add(&m, &(struct site_stats_span){ 3, 1000, false, 0, 0 });
	site_stats_add(&m, &(struct site_stats_span){ 4, 200, true, 0, 0 });
	site_stats_add(&m, &(struct site_stats_span){ 0, 5000, false, 0, 0 });
	site_stats_read(&m, &s);
	assert_int_equal(s.rounds, 3);
	assert_int_equal(s.full, 1);
	assert_int_equal(s.hits, 7);
	assert_int_equal(s.exposed_us, 6200);
	assert_int_equal(s.hits2, 25);
	assert_int_equal(s.hits_exposed, 3800);
	assert_int_equal(s.exposed2, 1000000 + 40000 + 25000000);
}

static void what_is_not_counted(void **state)
{
	struct site_stats m = { .quota = 4, .period_ms = 1000 };
	struct site_stats_sums s;

	(void)state;
	site_stats_add(&m, &(struct site_stats_span){ 1, 1000, true, 3, 150 });
	site_stats_miss(&m);
	site_stats_read(&m, &s);
	assert_int_equal(s.rounds, 1);
	assert_int_equal(s.hits, 1);
	assert_int_equal(s.missed, 4);
	assert_int_equal(s.stood_us, 150);
}

static void cleared_but_for_the_wishes(void **state)
{
	static const struct site_stats_sums none;
	struct site_stats m = { .quota = 4, .period_ms = 1000 };
	struct site_stats_sums s;

	(void)state;
	site_stats_add(&m, &(struct site_stats_span){ 3, 1000, true, 0, 0 });
	site_stats_miss(&m);
	site_stats_clear(&m);
	site_stats_read(&m, &s);
	assert_memory_equal(&s, &none, sizeof(s));
	assert_int_equal(m.quota, 4);
	assert_int_equal(m.period_ms, 1000);
}

/* The writer has died in the middle of a write: the sums can be read all the same. */
static void left_odd(void **state)
{
	struct site_stats m = { 0 };
	struct site_stats_sums s;

	(void)state;
	site_stats_add(&m, &(struct site_stats_span){ 3, 1000, true, 0, 0 });
	atomic_fetch_add(&m.version, 1);
	site_stats_read(&m, &s);
	assert_int_equal(s.hits, 3);
}

#define STRETCHES 300000

static void *write_many(void *arg)
{
	for (int i = 0; i < STRETCHES; i++)
		site_stats_add(arg, &(struct site_stats_span){ 2, 3, true, 5, 7 });
	return NULL;
}

static void of_one_moment(void **state)
{
	struct site_stats m = { 0 };
	struct site_stats_sums s;
	pthread_t writer;

	(void)state;
	assert_int_equal(pthread_create(&writer, NULL, write_many, &m), 0);
	do {
		site_stats_read(&m, &s);
		assert_int_equal(s.full, s.rounds);
		assert_int_equal(s.hits, 2 * s.rounds);
		assert_int_equal(s.exposed_us, 3 * s.rounds);
		assert_int_equal(s.hits2, 4 * s.rounds);
		assert_int_equal(s.hits_exposed, 6 * s.rounds);
		assert_int_equal(s.exposed2, 9 * s.rounds);
		assert_int_equal(s.missed, 5 * s.rounds);
		assert_int_equal(s.stood_us, 7 * s.rounds);
	} while (s.rounds < STRETCHES);
	pthread_join(writer, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums),
		cmocka_unit_test(what_is_not_counted),
		cmocka_unit_test(cleared_but_for_the_wishes),
		cmocka_unit_test(left_odd),
		cmocka_unit_test(of_one_moment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

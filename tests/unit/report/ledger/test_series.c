/* SPDX-License-Identifier: MIT */
/* series: the points are the live bytes at the ends of equal spans, in whatever steps time advances. */
#include "report/ledger/series.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FIRST MMT_SERIES_FIRST_US

static struct series s;

static int setup(void **state)
{
	(void)state;
	series_init(&s);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	series_fini(&s);
	return 0;
}

static void advance(uint64_t now_us, uint64_t bytes)
{
	assert_int_equal(series_advance(&s, now_us, bytes), 0);
}

static void a_point_for_each_span(void **state)
{
	(void)state;
	advance(FIRST - 1, 5);
	assert_int_equal(s.n, 0);
	advance(FIRST, 6);
	assert_int_equal(s.n, 1);
	assert_int_equal(series_point(&s, 0), 6);
	advance(FIRST * 4 + 1, 7);
	assert_int_equal(s.n, 4);
	for (uint32_t i = 1; i < 4; i++)
		assert_int_equal(series_point(&s, i), 7);
	advance(FIRST * 2, 100);	/* time does not go back */
	assert_int_equal(s.n, 4);
	assert_int_equal(series_point(&s, 1), 7);
}

static void nothing_held_takes_no_memory(void **state)
{
	(void)state;
	advance(FIRST * 1000, 0);
	assert_null(s.points);
	assert_true(s.n > 0);
	assert_int_equal(series_point(&s, 0), 0);
	advance(FIRST * 2000, 1);
	assert_non_null(s.points);
	assert_int_equal(series_point(&s, 0), 0);
	assert_int_equal(series_point(&s, s.n - 1), 1);
}

static void spans_are_doubled(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= MMT_SERIES_POINTS; i++)
		advance(FIRST * i, i);
	assert_int_equal(s.n, MMT_SERIES_POINTS);
	assert_int_equal(series_span_us(&s), FIRST);
	advance(FIRST * (MMT_SERIES_POINTS + 1), 999);
	assert_int_equal(series_span_us(&s), 2 * FIRST);
	assert_int_equal(s.n, MMT_SERIES_POINTS / 2);	/* the current span is not over */
	for (uint32_t i = 0; i < s.n; i++)
		assert_int_equal(series_point(&s, i), 2 * (i + 1));
	advance(FIRST * (MMT_SERIES_POINTS + 2), 1000);
	assert_int_equal(series_point(&s, s.n - 1), 1000);
}

static void the_span_depends_on_time_alone(void **state)
{
	(void)state;
	for (uint64_t now = 1; now < UINT64_MAX / 3; now = now * 2 + now / 3) {
		advance(now, now);
		assert_int_equal(series_span_us(&s), series_span(now));
		assert_int_equal(s.n, now / series_span(now));
	}
	advance(UINT64_MAX, 1);
	assert_int_equal(series_span_us(&s), series_span(UINT64_MAX));
	assert_in_range(s.n, MMT_SERIES_POINTS / 2, MMT_SERIES_POINTS);
}

static uint64_t rng = 88172645463325252u;

static uint64_t rnd(uint64_t below)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng % below;
}

/* Random times, in steps of all sizes, compared with the live bytes at each of these times. */
static void agrees_with_a_model(void **state)
{
	(void)state;
	for (int round = 0; round < 300; round++) {
		static uint64_t at[200], held[200];
		int n = 1 + (int)rnd(200);
		uint64_t now = 0, step = 1 + rnd(1 + rnd(FIRST * 20));

		series_init(&s);
		for (int i = 0; i < n; i++) {
			now += rnd(2 * step);
			at[i] = now;
			held[i] = rnd(3) ? rnd(1000) : 0;
			advance(now, i ? held[i - 1] : 0);	/* and from now on it is held[i] */
		}
		now += rnd(20 * step);
		advance(now, held[n - 1]);
		assert_int_equal(series_span_us(&s), series_span(now));
		assert_int_equal(s.n, now / series_span(now));
		for (uint32_t p = 0; p < s.n; p++) {
			uint64_t end = (p + 1) * series_span(now), bytes = 0;

			for (int i = 0; i < n && at[i] < end; i++)
				bytes = held[i];
			assert_int_equal(series_point(&s, p), bytes);
		}
		series_fini(&s);
	}
}

/* Two parts that are counted separately and then added equal the whole. */
static void parts_add_up(void **state)
{
	struct series part;

	(void)state;
	for (int round = 0; round < 300; round++) {
		uint64_t now = 0, a = 0, b = 0, step = 1 + rnd(1 + rnd(FIRST * 50));
		struct series sum;

		series_init(&s);
		series_init(&part);
		series_init(&sum);
		for (int i = 0; i < 100; i++) {
			now += rnd(step);
			advance(now, a);
			assert_int_equal(series_advance(&part, now, b), 0);
			assert_int_equal(series_advance(&sum, now, a + b), 0);
			a = rnd(100);
			b = rnd(100);
		}
		uint64_t points[MMT_SERIES_POINTS];
		for (uint32_t i = 0; i < part.n; i++)
			points[i] = series_point(&part, i);
		assert_int_equal(series_add(&s, series_span_us(&part), points, part.n), 0);
		assert_int_equal(s.n, sum.n);
		assert_int_equal(s.doublings, sum.doublings);
		for (uint32_t i = 0; i < s.n; i++)
			assert_int_equal(series_point(&s, i), series_point(&sum, i));
		series_fini(&s);
		series_fini(&part);
		series_fini(&sum);
	}
}

static void parts_of_other_spans(void **state)
{
	static const uint64_t fine[] = { 1, 2, 3, 4, 5 }, coarse[] = { 10, 20 };

	(void)state;
	assert_int_equal(series_add(&s, FIRST, fine, 5), 0);
	assert_int_equal(series_add(&s, 2 * FIRST, coarse, 2), 0);
	assert_int_equal(s.n, 2);
	assert_int_equal(series_span_us(&s), 2 * FIRST);
	assert_int_equal(series_point(&s, 0), 12);
	assert_int_equal(series_point(&s, 1), 24);
	assert_int_equal(series_add(&s, FIRST, fine, 5), 0);
	assert_int_equal(series_point(&s, 0), 14);
	assert_int_equal(series_point(&s, 1), 28);
	assert_int_equal(series_add(&s, (uint64_t)FIRST << 40, coarse, 1), 0);
	assert_int_equal(s.n, 1);
	assert_int_equal(series_point(&s, 0), 10);
}

static void nonsense_is_refused(void **state)
{
	static const uint64_t points[MMT_SERIES_POINTS + 1];

	(void)state;
	assert_int_equal(series_add(&s, FIRST, points, MMT_SERIES_POINTS + 1), -EINVAL);
	assert_int_equal(series_add(&s, 0, points, 1), -EINVAL);
	assert_int_equal(series_add(&s, FIRST + 1, points, 1), -EINVAL);
	assert_int_equal(series_add(&s, 3 * FIRST, points, 1), -EINVAL);
	assert_int_equal(series_add(&s, UINT64_MAX, points, 1), -EINVAL);
	assert_int_equal(series_add(&s, FIRST, points, MMT_SERIES_POINTS), 0);
}

int main(void)
{
#define series_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		series_test(a_point_for_each_span),
		series_test(nothing_held_takes_no_memory),
		series_test(spans_are_doubled),
		series_test(the_span_depends_on_time_alone),
		series_test(agrees_with_a_model),
		series_test(parts_add_up),
		series_test(parts_of_other_spans),
		series_test(nonsense_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

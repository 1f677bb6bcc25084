/* SPDX-License-Identifier: MIT */
/* growth: typical memory courses of programs, played through a real series, get the right shape. */
#include "report/model/growth.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/ledger/series.h"
#include "report/words/words.h"

#define BLOCK 100

static uint64_t rng;

static double rnd(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (double)(rng % 1000000) / 1e6;
}

/* Blocks that are to be live at part @t (0 to 1) of a run. */
typedef double course(double t);

/* Allocations per block that stays live. */
static uint64_t turnover = 1;

static struct growth play_blocks(course *f, double seconds, double blocks)
{
	struct growth_point points[MMT_SERIES_POINTS + 1];
	uint64_t end_us = (uint64_t)(seconds * 1e6), allocs = 0, frees = 0, held = 0;
	struct growth out;
	struct series s;

	rng = 88172645463325252u;
	series_init(&s);
	for (int i = 0; i <= 20000; i++) {
		uint64_t now = end_us / 20000 * i, wanted = (uint64_t)llround(f(i / 20000.) * blocks);

		assert_int_equal(series_advance(&s, now, held * BLOCK), 0);
		allocs += wanted > held ? wanted - held : 0;
		frees += wanted < held ? held - wanted : 0;
		held = wanted;
	}
	assert_int_equal(series_advance(&s, end_us, held * BLOCK), 0);
	for (uint32_t i = 0; i < s.n; i++)
		points[i] = (struct growth_point){ (i + 1) * series_span_us(&s) / 1e6, series_point(&s, i), 0 };
	points[s.n] = (struct growth_point){ seconds, held * BLOCK, 0 };
	frees += allocs * (turnover - 1);
	growth_classify(points, s.n + 1, seconds, allocs * turnover, frees, &out);
	series_fini(&s);
	return out;
}

/* The answer must not depend on the length of the run: a span is a 17th to a 33rd of it. */
static void assert_shape_of(const char *what, course *f, double blocks, enum growth_shape shape,
			    double per_run, double tolerance)
{
	for (double seconds = 4; seconds < 5000; seconds *= 1.13) {
		struct growth g = play_blocks(f, seconds, blocks);
		double wanted = per_run * blocks * BLOCK * 60 / seconds;

		if (g.shape != shape)
			fail_msg("%s in %.2f s: %s instead of %s", what, seconds, growth_name(g.shape),
				 growth_name(shape));
		if (fabs(g.bytes_per_minute - wanted) > fabs(wanted) * tolerance)
			fail_msg("%s in %.2f s: %.1f bytes a minute instead of %.1f", what, seconds,
				 g.bytes_per_minute, wanted);
	}
}

static void assert_since_of(const char *what, course *f, double blocks, double from, double to)
{
	for (double seconds = 4; seconds < 5000; seconds *= 1.13) {
		struct growth g = play_blocks(f, seconds, blocks);

		if (g.since_s < from * seconds || g.since_s > to * seconds)
			fail_msg("%s in %.2f s: since %.2f s", what, seconds, g.since_s);
	}
}

#define assert_shape(f, ...) assert_shape_of(#f, f, __VA_ARGS__)
#define assert_since(f, ...) assert_since_of(#f, f, __VA_ARGS__)

/* --- leaks --- */

static double steady(double t) { return t; }
static double noisy(double t) { return t * 0.95 + 0.05 * rnd(); }
static double from_half(double t) { return t < 0.5 ? 0 : (t - 0.5) * 2; }
static double from_two_thirds(double t) { return t < 0.66 ? 0 : (t - 0.66) * 3; }
static double steps(double t) { return floor(t * 6) / 6; }
static double many_steps(double t) { return floor(t * 20) / 20; }
static double large_base(double t) { return 1 + 0.2 * t; }
static double very_large_base(double t) { return 1 + 0.01 * t; }
static double faster(double t) { return t * t; }
static double startup_then_leak(double t)
{
	return t < 0.1 ? t * 10 : t < 0.15 ? 0.01 : 0.01 + (t - 0.15) * 0.4;
}

static void leaks_grow(void **state)
{
	(void)state;
	assert_shape(steady, 1000, GROWTH_GROWS, 1, 0.02);
	assert_shape(steady, 10, GROWTH_GROWS, 1, 0.35);
	assert_shape(noisy, 1000, GROWTH_GROWS, 0.95, 0.2);
	assert_shape(from_half, 1000, GROWTH_GROWS, 2, 0.02);
	assert_shape(from_two_thirds, 1000, GROWTH_GROWS, 3, 0.1);
	assert_shape(steps, 6000, GROWTH_GROWS, 1, 0.55);
	assert_shape(many_steps, 6000, GROWTH_GROWS, 1, 0.2);
	assert_shape(large_base, 10000, GROWTH_GROWS, 0.2, 0.05);
	assert_shape(very_large_base, 1000000, GROWTH_GROWS, 0.01, 0.05);
	assert_shape(faster, 1000, GROWTH_GROWS, 5 / 3., 0.1);
	assert_shape(startup_then_leak, 10000, GROWTH_GROWS, 0.4, 0.1);
}

/* The same when most blocks are freed. */
static void leaks_among_others_grow(void **state)
{
	(void)state;
	turnover = 50;
	assert_shape(steady, 1000, GROWTH_GROWS, 1, 0.02);
	assert_shape(noisy, 1000, GROWTH_GROWS, 0.95, 0.2);
	assert_shape(from_half, 1000, GROWTH_GROWS, 2, 0.02);
	assert_shape(steps, 6000, GROWTH_GROWS, 1, 0.55);
	assert_shape(large_base, 10000, GROWTH_GROWS, 0.2, 0.05);
	turnover = 1;
}

/* One block each twenty seconds. */
static void a_slow_leak_grows(void **state)
{
	(void)state;
	for (double seconds = 100; seconds < 2000; seconds += 20) {
		struct growth g = play_blocks(steady, seconds, seconds / 20);

		assert_int_equal(g.shape, GROWTH_GROWS);
		assert_true(g.bytes_per_minute > 3 * BLOCK / 2. && g.bytes_per_minute < 3 * BLOCK * 1.7);
	}
}

/* --- courses that slow down, or have come to rest --- */

static double slowing(double t) { return (1 - exp(-3 * t)) / (1 - exp(-3)); }
static double square_root(double t) { return sqrt(t); }
static double filled_by_half(double t) { return t < 0.5 ? t * 2 : 1; }
static double filled_late(double t) { return t < 0.8 ? t / 0.8 : 1; }
static double saturating(double t) { return 1 - exp(-12 * t); }
static double turns_over(double t) { return (t < 0.2 ? t * 5 : 1) * (0.9 + 0.2 * rnd()); }
static double turns_over_from_start(double t) { (void)t; return 0.9 + 0.2 * rnd(); }
static double waves(double t) { return t < 0.1 ? t * 10 : 1 + 0.1 * sin(t * 60); }

static double one_more_at_end(double t) { return t < 0.2 ? t * 5 : t < 0.75 ? 1 : 1.15; }

/* A cache turns over, and at the end has by chance one large block more: that is no growth. */
static void chance_is_no_growth(void **state)
{
	(void)state;
	turnover = 50;
	assert_shape(one_more_at_end, 1000, GROWTH_LEVEL, 0, 0);
	turnover = 1;
}

static void what_slows(void **state)
{
	(void)state;
	assert_shape(slowing, 1000, GROWTH_SLOWS, 0.27, 0.2);
	assert_shape(square_root, 1000, GROWTH_GROWS, 0.55, 0.2);
}

static void caches_level_off(void **state)
{
	(void)state;
	assert_shape(filled_by_half, 1000, GROWTH_LEVEL, 0, 0);
	assert_since(filled_by_half, 1000, 0.45, 0.57);
	assert_shape(filled_late, 1000, GROWTH_LEVEL, 0, 0);
	assert_since(filled_late, 1000, 0.74, 0.87);
	assert_shape(saturating, 1000, GROWTH_LEVEL, 0, 0);
	assert_since(saturating, 1000, 0.2, 0.45);
	assert_shape(turns_over, 1000, GROWTH_LEVEL, 0, 0);
	assert_since(turns_over, 1000, 0.1, 0.35);
	assert_shape(turns_over_from_start, 1000, GROWTH_LEVEL, 0, 0);
	assert_since(turns_over_from_start, 1000, 0, 0.15);
	assert_shape(waves, 1000, GROWTH_LEVEL, 0, 0);
}

/*
 * Sessions of a server: they begin steadily, and those that are over are freed together. The run may end
 * anywhere in between.
 */
static double reaped(double t) { return t < 0.07 ? t * 10 : 0.65 + 0.35 * fmod(t * 6.9, 1); }
static double reaped_but_some(double t) { return 0.6 * t + 0.2 + 0.2 * fmod(t * 8.8, 1); }

static void what_is_reaped_levels_off(void **state)
{
	(void)state;
	assert_shape(reaped, 1000, GROWTH_LEVEL, 0, 0);
	assert_shape(reaped_but_some, 1000, GROWTH_GROWS, 0.6, 0.7);
}

/* --- all at once --- */

static double at_start(double t) { (void)t; return 1; }
static double at_a_third(double t) { return t < 0.33 ? 0 : 1; }
static double quickly(double t) { return t < 0.3 ? 0 : t > 0.35 ? 1 : (t - 0.3) * 20; }

static void once(void **state)
{
	(void)state;
	assert_shape(at_start, 1, GROWTH_ONCE, 0, 0);
	assert_since(at_start, 1, 0, 0.07);
	assert_shape(at_a_third, 1, GROWTH_ONCE, 0, 0);
	assert_since(at_a_third, 1, 0.32, 0.4);
	assert_shape(at_a_third, 5000, GROWTH_ONCE, 0, 0);
	assert_shape(quickly, 5000, GROWTH_ONCE, 0, 0);
	assert_since(quickly, 5000, 0.33, 0.42);
}

/* The blocks of a ring buffer are replaced for ever: it is filled at once, but its blocks are not that old. */
static void replaced(void **state)
{
	struct growth_point points[40];
	struct growth g;

	(void)state;
	for (size_t i = 0; i < 40; i++)
		points[i] = (struct growth_point){ (double)i + 1, 64000, 0 };
	growth_classify(points, 40, 40, 50000, 49000, &g);
	assert_int_equal(g.shape, GROWTH_ONCE);
	growth_see_ages(&g, 40, 49000, 1000, 39);
	assert_int_equal(g.shape, GROWTH_ONCE);
	growth_see_ages(&g, 40, 10, 1000, 1);
	assert_int_equal(g.shape, GROWTH_ONCE);
	growth_see_ages(&g, 40, 49000, 1000, 1);
	assert_int_equal(g.shape, GROWTH_LEVEL);
	assert_true(g.since_s < 3);
}

/* --- courses that go down --- */

static double sawtooth(double t) { return fmod(t * 4.5, 1); }
static double released(double t) { return t < 0.5 ? t * 2 : 1.5 - t; }
static double all_released(double t) { return t < 0.5 ? t * 2 : 0; }
static double sawtooth_near_its_top(double t) { return fmod(t * 4.95, 1); }

/* The most that was live since the flush is what the flush left. */
static void falls_after_a_flush(void **state)
{
	struct growth_point points[22];
	struct growth g;

	(void)state;
	for (int i = 0; i < 22; i++)
		points[i] = (struct growth_point){ (i + 1) / 2., i < 3 ? 8000 : i == 3 ? 2560 : 1552, 0 };
	growth_classify(points, 22, 11, 300, 200, &g);
	assert_int_equal(g.shape, GROWTH_FALLS);
	assert_float_equal(g.bytes_per_minute, (1552 - 2560) / 9. * 60, 0.01);
}

/*
 * One block more at every second span, at a site where many others are allocated and freed; in one span these
 * are seen.
 */
static void a_staircase_grows(void **state)
{
	struct growth_point p[24];
	struct growth g;

	(void)state;
	for (size_t spike = 0; spike < 23; spike++) {
		for (size_t i = 0; i < 24; i++)
			p[i] = (struct growth_point){ 0.1 * (double)(i + 1),
						      100 * ((i + 1) / 2) + (i == spike ? 300 : 0), 0 };
		growth_classify(p, 24, 2.4, 156, 144, &g);
		if (g.shape != GROWTH_GROWS && g.shape != GROWTH_SLOWS)
			fail_msg("%s with others at %zu", growth_name(g.shape), spike);
	}
}

/* Five blocks all the time, and three more that are live only when one span ends. */
static void a_moment_is_no_height_to_fall_from(void **state)
{
	struct growth_point p[24];
	struct growth g;

	(void)state;
	for (size_t i = 0; i < 24; i++)
		p[i] = (struct growth_point){ 0.1 * (double)(i + 1), i == 7 ? 800 : 500, 0 };
	growth_classify(p, 24, 2.4, 77, 72, &g);
	assert_int_equal(g.shape, GROWTH_LEVEL);
	p[8].bytes = 800;
	growth_classify(p, 24, 2.4, 77, 72, &g);
	assert_int_equal(g.shape, GROWTH_FALLS);
}

/* Freed late, and then more than ever before: it has not shrunk. */
static void more_than_before_a_flush(void **state)
{
	struct growth_point points[24];
	struct growth g;

	(void)state;
	for (int i = 0; i < 24; i++)
		points[i] = (struct growth_point){ i + 1, i < 18 ? 3800 : i == 18 ? 1300 : 1300 + 2600 * (i - 18), 0 };
	growth_classify(points, 24, 24, 100, 60, &g);
	assert_int_equal(g.shape, GROWTH_UNKNOWN);
}

static void falls(void **state)
{
	(void)state;
	assert_shape(sawtooth, 1000, GROWTH_FALLS, -1, 10);
	assert_shape(released, 1000, GROWTH_FALLS, -1, 0.2);
	assert_shape(all_released, 1000, GROWTH_FALLS, -2, 0.25);
	assert_shape(sawtooth_near_its_top, 1000, GROWTH_FALLS, 0, INFINITY);
}

/* --- courses without an answer --- */

static double burst_at_end(double t) { return t < 0.95 ? 0 : (t - 0.95) * 20; }
static double three(double t) { return floor(t * 3.2) / 3; }
static double few_that_change(double t) { (void)t; return floor(rnd() * 4) / 3; }

static void too_short_to_say(void **state)
{
	struct growth g;

	(void)state;
	assert_shape(burst_at_end, 1000, GROWTH_UNKNOWN, 1, 0.01);
	assert_shape(three, 3, GROWTH_UNKNOWN, 1, 0.01);
	for (double seconds = 4; seconds < 5000; seconds *= 1.13) {
		g = play_blocks(few_that_change, seconds, 3);
		assert_true(g.shape != GROWTH_GROWS && g.shape != GROWTH_SLOWS);
	}
	g = play_blocks(steady, 0.05, 1000);
	assert_int_equal(g.shape, GROWTH_UNKNOWN);
	assert_true(g.bytes_per_minute == 0);	/* not 120 MB */
}

static void nothing_at_all(void **state)
{
	static const struct growth_point zeros[40], one = { 0, 5, 0 };
	struct growth g;

	(void)state;
	growth_classify(NULL, 0, 0, 0, 0, &g);
	assert_int_equal(g.shape, GROWTH_UNKNOWN);
	growth_classify(NULL, 0, 100, 5, 0, &g);
	assert_int_equal(g.shape, GROWTH_UNKNOWN);
	growth_classify(zeros, 40, 100, 5, 5, &g);
	assert_int_equal(g.shape, GROWTH_UNKNOWN);
	assert_true(g.bytes_per_minute == 0);
	growth_classify(&one, 1, 0, 1, 0, &g);
	assert_int_equal(g.shape, GROWTH_UNKNOWN);
	assert_true(g.bytes_per_minute == 0);
}

/* Numbers that a damaged file may have: the result is finite. */
static void any_numbers(void **state)
{
	(void)state;
	rng = 1234567;
	for (int round = 0; round < 20000; round++) {
		struct growth_point points[33];
		size_t n = 1 + (size_t)(rnd() * 33);
		double now = 0;
		struct growth g;

		for (size_t i = 0; i < n; i++) {
			now += rnd() * (rnd() < 0.2 ? 0 : 10);
			points[i] = (struct growth_point){ now, rnd() < 0.3 ? 0 : rng >> (int)(rnd() * 64), 0 };
		}
		growth_classify(points, n, now, rng >> 32, rng & 0xffff, &g);
		assert_true(isfinite(g.bytes_per_minute) && isfinite(g.since_s));
		assert_true(g.since_s >= 0 && g.since_s <= now);
		assert_in_range(g.shape, 0, GROWTH_COUNT - 1);
	}
}

static void names(void **state)
{
	(void)state;
	assert_string_equal(growth_name(GROWTH_LEVEL), "level");
	assert_string_equal(words_growth(GROWTH_LEVEL), "levelled off");
	assert_string_equal(growth_name(GROWTH_FALLS), "falls");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaks_grow),
		cmocka_unit_test(leaks_among_others_grow),
		cmocka_unit_test(a_slow_leak_grows),
		cmocka_unit_test(chance_is_no_growth),
		cmocka_unit_test(what_slows),
		cmocka_unit_test(caches_level_off),
		cmocka_unit_test(once),
		cmocka_unit_test(replaced),
		cmocka_unit_test(what_is_reaped_levels_off),
		cmocka_unit_test(falls),
		cmocka_unit_test(more_than_before_a_flush),
		cmocka_unit_test(falls_after_a_flush),
		cmocka_unit_test(a_staircase_grows),
		cmocka_unit_test(a_moment_is_no_height_to_fall_from),
		cmocka_unit_test(too_short_to_say),
		cmocka_unit_test(nothing_at_all),
		cmocka_unit_test(any_numbers),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

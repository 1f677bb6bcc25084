/* SPDX-License-Identifier: MIT */
/*
 * estimate, quantile: intervals contain the truth as often as they should, in simulated runs with a known
 * truth.
 */
#include "report/sampling/estimate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "report/sampling/quantile.h"

#define RUNS 2000
#define ROUND_US 1000000.0

static uint64_t rng;

static double rnd(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return ((double)(rng >> 11) + 0.5) / 9007199254740992.0;
}

/* How a site allocates: bunches of @bunch, each at one moment, @rate blocks a second in all. */
struct site {
	double rate;
	unsigned bunch, quota;
	unsigned rounds;
	bool even;		/* as a timer allocates; otherwise at random */
};

/* One round: until the quota or the time is used up. */
static void play_round(const struct site *s, struct estimate_rounds *r)
{
	const double gap_us = 1e6 * s->bunch / s->rate;
	double at = s->even ? rnd() * gap_us : -log(rnd()) * gap_us;
	uint64_t h = 0, e;

	while (at < ROUND_US && (!s->quota || h < s->quota)) {
		h += s->bunch;
		if (s->quota && h >= s->quota)
			break;
		at += s->even ? gap_us : -log(rnd()) * gap_us;
	}
	if (s->quota && h >= s->quota) {
		h = s->quota;
		r->full++;
	} else {
		at = ROUND_US;
	}
	e = (uint64_t)ceil(at);
	r->rounds++;
	r->hits += h;
	r->exposed_us += e;
	r->hits2 += h * h;
	r->hits_exposed += h * e;
	r->exposed2 += e * e;
}

static struct estimate play(const struct site *s)
{
	struct estimate_rounds r = { 0 };
	struct estimate e;

	for (unsigned i = 0; i < s->rounds; i++)
		play_round(s, &r);
	estimate_rate(&r, r.hits, &e);
	return e;
}

/* In how many of a hundred runs the interval contains the truth; @at_least: how many were marked so. */
static double coverage(struct site s, double *at_least)
{
	unsigned held = 0, marked = 0;

	rng = 88172645463325252u;
	for (int i = 0; i < RUNS; i++) {
		const struct estimate e = play(&s);

		held += e.low <= s.rate && s.rate <= e.high;
		marked += e.at_least;
	}
	if (at_least)
		*at_least = 100.0 * marked / RUNS;
	return 100.0 * held / RUNS;
}

static void assert_between(double low, double x, double high)
{
	if (x < low || x > high)
		fail_msg("%g is not between %g and %g", x, low, high);
}

static void hits_that_come_by_themselves(void **state)
{
	double marked;

	(void)state;
	assert_between(93, coverage((struct site){ 0.3, 1, 0, 60, false }, NULL), 97);
	assert_between(93, coverage((struct site){ 1, 1, 4, 60, false }, NULL), 97);
	assert_between(93, coverage((struct site){ 3, 1, 0, 60, false }, NULL), 97);
	assert_between(93, coverage((struct site){ 100, 1, 0, 60, false }, &marked), 97);
	assert_between(0, marked, 0.5);
}

static void rounds_that_the_quota_ends(void **state)
{
	double marked;

	(void)state;
	assert_between(93, coverage((struct site){ 5, 1, 4, 60, false }, &marked), 97);
	assert_between(0, marked, 0.5);
	assert_between(93, coverage((struct site){ 50, 1, 4, 60, false }, &marked), 97);
	assert_between(0, marked, 0.5);
}

/* Hits of a loop: the moment of a stop is only known to within a part of the time between two stops. */
static void hits_in_quick_succession(void **state)
{
	const struct site loop = { 4000, 1, 4, 2000, false }, faster = { 40000, 1, 4, 2000, false };
	struct estimate e;

	(void)state;
	assert_between(98, coverage((struct site){ 4000, 1, 4, 200, false }, NULL), 100);
	rng = 88172645463325252u;
	e = play(&loop);
	assert_between(3200, e.low, 3400);
	assert_between(4800, e.high, 5300);
	e = play(&faster);
	assert_between(12000, e.low, 14000);
	assert_between(155000, e.high, 172000);
}

/*
 * A round that ends at a hit is shorter than its evenly spaced hits would take: three and a half distances
 * for four hits.
 */
static void even_hits_that_the_quota_ends(void **state)
{
	const struct site timer = { 100, 1, 4, 400, true };
	struct estimate e;

	(void)state;
	rng = 88172645463325252u;
	e = play(&timer);
	assert_between(98, e.value, 103);
	assert_between(95, coverage((struct site){ 100, 1, 4, 60, true }, NULL), 100);
	assert_between(95, coverage((struct site){ 10, 1, 4, 60, true }, NULL), 100);
	assert_between(95, coverage((struct site){ 4000, 1, 4, 200, true }, NULL), 100);
	assert_between(93, coverage((struct site){ 50, 1, 1, 60, true }, NULL), 100);
	/* rounds that end by time have their full length */
	assert_between(95, coverage((struct site){ 3, 1, 0, 60, true }, NULL), 100);
	assert_between(95, coverage((struct site){ 1, 1, 4, 60, true }, NULL), 100);
}

static void bunches(void **state)
{
	(void)state;
	assert_between(90, coverage((struct site){ 5, 10, 0, 60, false }, NULL), 97);
	assert_between(90, coverage((struct site){ 20, 10, 0, 60, false }, NULL), 97);
	assert_between(90, coverage((struct site){ 100, 10, 0, 120, false }, NULL), 97);
	/* bunches that fit into a quota */
	assert_between(90, coverage((struct site){ 20, 10, 100, 60, false }, NULL), 97);
}

static void bunches_that_the_quota_cuts(void **state)
{
	const struct estimate_rounds none = { 0 };
	double marked;

	(void)state;
	assert_false(estimate_cuts_bunches(&none));
	(void)coverage((struct site){ 20, 10, 4, 60, false }, &marked);
	assert_between(99, marked, 100);
	(void)coverage((struct site){ 500, 10, 4, 60, false }, &marked);
	assert_between(99, marked, 100);
}

/* A typical number of hits at random: the sum of the squared residuals is the number of hits. */
static struct estimate_rounds by_chance(uint64_t rounds, uint64_t full, uint64_t hits, uint64_t exposed_us)
{
	return (struct estimate_rounds){
		.rounds = rounds, .full = full, .hits = hits, .exposed_us = exposed_us,
		.hits2 = hits + hits * hits / rounds,
		.hits_exposed = hits * exposed_us / rounds, .exposed2 = exposed_us * exposed_us / rounds,
	};
}

/* @r with only the missed hits changed. */
static bool is_lower_bound(const struct estimate_rounds *r, uint64_t missed, uint64_t stood_us)
{
	struct estimate_rounds all = *r;
	struct estimate e;

	all.missed = missed;
	all.stood_us = stood_us;
	estimate_rate(&all, all.hits, &e);
	return e.at_least;
}

/*
 * Of four simultaneous hits one is counted. The sums are those measured on threads that meet, and on threads
 * that only wake at the same time.
 */
static void threads_in_lockstep(void **state)
{
	/* the rounds do not show bunches: one hit in each */
	const struct estimate_rounds hot = by_chance(20, 20, 20, 20000), once = by_chance(1, 0, 1, 1000000);
	const struct estimate_rounds wakes = by_chance(30, 30, 85, 139488),
				     counted = by_chance(60, 0, 6000, 60000000);

	(void)state;
	assert_false(is_lower_bound(&hot, 0, 0)); /* one thread, or a trace without that number */
	assert_false(is_lower_bound(&hot, 0, 4000));
	assert_true(is_lower_bound(&hot, 60, 4000));
	assert_true(is_lower_bound(&hot, 120, 2000));
	/* threads were stopped as long as they were not: as many hits come in either time */
	assert_false(is_lower_bound(&hot, 20, 20000));
	assert_false(is_lower_bound(&hot, 60, 20000));
	/* eight missed hits, once */
	assert_false(is_lower_bound(&once, 8, 50));
	/* paced threads that all wake at each millisecond: estimated at 0.7 of the truth */
	assert_false(is_lower_bound(&wakes, 35, 11106));
	/* hits are counted one by one, and some came when the trap was just lifted */
	assert_false(is_lower_bound(&counted, 900, 600000));
}

static void nothing_seen(void **state)
{
	const struct estimate_rounds none = { 0 }, quiet = { .rounds = 60, .exposed_us = 60000000,
							     .exposed2 = 60000000000000 };
	struct estimate e, kept;

	(void)state;
	estimate_rate(&none, 0, &e);
	assert_true(e.value == 0 && e.low == 0 && isinf(e.high));
	estimate_kept(&e, 0.5, 0.4, 0.6, &kept);
	assert_true(isinf(kept.high));
	estimate_kept(&e, 0, 0, 0, &kept);
	assert_true(kept.high == 0);
	/* an unbounded number of blocks may leak an unbounded number, even if none of the tracked ones did */
	e.at_least = true;
	estimate_kept(&e, 0, 0, 0.1, &kept);
	assert_true(kept.at_least);
	estimate_kept(&e, 0, 0, 0, &kept);
	assert_false(kept.at_least);
	estimate_rate(&quiet, 0, &e);
	assert_true(e.value == 0 && e.low == 0);
	assert_between(0.02, e.high, 0.07);
	estimate_kept(&e, 1, 0.9, 1, &kept);
	assert_between(e.high * 0.99, kept.high, e.high * 1.01);
}

/* A stack's rate is its share of the site's hits. */
static void one_stack_of_a_site(void **state)
{
	const struct estimate_rounds r = {
		.rounds = 100, .hits = 1000, .exposed_us = 100000000, .hits2 = 11000,
		.hits_exposed = 1000000000, .exposed2 = 100000000000000,
	};
	struct estimate all, some;

	(void)state;
	estimate_rate(&r, 1000, &all);
	estimate_rate(&r, 250, &some);
	assert_between(9.999, all.value, 10.001);
	assert_between(2.4999, some.value, 2.5001);
	assert_true(some.low < some.value && some.value < some.high);
	estimate_scale(&some, 60);
	assert_between(149.9, some.value, 150.1);
}

/* Blocks of which a share leaks, both counted in a run each: coverage of the product's interval. */
static double coverage_kept(double rate, double share, unsigned followed)
{
	const struct site s = { rate, 1, 4, 60, false };
	unsigned held = 0;

	rng = 88172645463325252u;
	for (int i = 0; i < RUNS; i++) {
		struct estimate e = play(&s), kept;
		unsigned stay = 0;
		double low, high;

		for (unsigned j = 0; j < followed; j++)
			stay += rnd() < share;
		quantile_share(stay, followed, &low, &high);
		estimate_kept(&e, (double)stay / followed, low, high, &kept);
		held += kept.low <= rate * share && rate * share <= kept.high;
	}
	return 100.0 * held / RUNS;
}

static void what_is_kept(void **state)
{
	(void)state;
	assert_between(93, coverage_kept(10, 0.5, 50), 98);
	assert_between(93, coverage_kept(2, 0.1, 100), 98);
	assert_between(93, coverage_kept(100, 0.9, 30), 98);
	assert_between(93, coverage_kept(5, 1, 40), 100);
	assert_between(93, coverage_kept(5, 0, 40), 100);
}

static void quantiles(void **state)
{
	double low, high;

	(void)state;
	assert_between(1.95996, quantile_normal(0.975), 1.95997);
	assert_between(-1.95997, quantile_normal(0.025), -1.95996);
	assert_between(0.69314, quantile_gamma(0.5, 1), 0.69315);
	assert_between(3.68887, quantile_gamma(0.975, 1), 3.68888);		/* -ln 0.025 */
	/* half of chi square's 9.59078, 20 degrees */
	assert_between(4.79538, quantile_gamma(0.025, 10), 4.79540);
	assert_between(17.08480, quantile_gamma(0.975, 10), 17.08482);		/* 34.16961 */
	assert_between(0.00049, quantile_gamma(0.025, 0.5), 0.000492);		/* 0.000982 */
	/* on both sides of where the formula changes */
	assert_between(1.9, quantile_gamma(0.975, 1e6 + 1) - quantile_gamma(0.975, 1e6 - 1), 2.1);
	assert_between(1.9, quantile_gamma(0.025, 1e6 + 1) - quantile_gamma(0.025, 1e6 - 1), 2.1);
	quantile_share(83, 83, &low, &high);
	assert_between(0.955, low, 0.957);
	assert_true(high == 1);
	quantile_share(0, 10, &low, &high);
	assert_true(low == 0);
	assert_between(0.277, high, 0.279);
}

static uint64_t any(void)
{
	const double x = exp(rnd() * 44) - 1;

	return rnd() < 0.1 ? UINT64_MAX : (uint64_t)x;
}

/* A trace may have any numbers. */
static void any_numbers(void **state)
{
	rng = 88172645463325252u;
	(void)state;
	for (int i = 0; i < 3000; i++) {
		const struct estimate_rounds r = { any(), any(), any(), any(), any(),
						   any(), any(), any(), any() };
		struct estimate e, kept;

		estimate_rate(&r, any(), &e);
		assert_true(e.low >= 0 && e.low <= e.high && e.value >= 0);
		estimate_kept(&e, rnd(), 0.5 * rnd(), 1, &kept);
		assert_true(kept.low >= 0 && kept.low <= kept.high && kept.value >= 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantiles),
		cmocka_unit_test(hits_that_come_by_themselves),
		cmocka_unit_test(rounds_that_the_quota_ends),
		cmocka_unit_test(hits_in_quick_succession),
		cmocka_unit_test(even_hits_that_the_quota_ends),
		cmocka_unit_test(bunches),
		cmocka_unit_test(bunches_that_the_quota_cuts),
		cmocka_unit_test(threads_in_lockstep),
		cmocka_unit_test(nothing_seen),
		cmocka_unit_test(one_stack_of_a_site),
		cmocka_unit_test(what_is_kept),
		cmocka_unit_test(any_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* survival: blocks of simulated sites, some of them tracked, lead to the right conclusion. */
#include "report/sampling/survival.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static uint64_t rng;

static double rnd(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return ((double)(rng >> 11) + 0.5) / 9007199254740992.0;
}

/* How old a block becomes. */
typedef double life(void);

static double forever(void)
{
	return INFINITY;
}

static double a_moment(void)
{
	return -0.0005 * log(rnd());
}

static double five_seconds(void)
{
	return 5;
}

static double about_ten_seconds(void)
{
	return -10 * log(rnd());
}

/* The error path of a request leaks one block in ten. */
static double one_in_ten_stays(void)
{
	return rnd() < 0.1 ? INFINITY : 0.02 * rnd();
}

static double one_in_thirty_goes(void)
{
	return rnd() < 1.0 / 30 ? 20 : INFINITY;
}

/* One address in @many is allocated by another site before the first look, and that block leaks. */
static double taken_over(double many)
{
	return rnd() < 1 / many ? INFINITY : 0.0005;
}

static double taken_over_seldom(void)
{
	return taken_over(400);
}

static double taken_over_often(void)
{
	return taken_over(100);
}

/*
 * @rate blocks a second are tracked for @run_s seconds, born until @until_s; at each look one in @lost (0:
 * none) cannot be tracked any more.
 */
static struct survival play(life *f, double rate, double run_s, double until_s, unsigned lost)
{
	struct survival_step steps[SURVIVAL_STEPS] = { { 0 } };
	uint64_t seen = 0, late = 0;
	struct survival out;

	rng = 88172645463325252u;
	for (double born = 0.5 / rate; born < until_s; born += 1 / rate) {
		const double dies = f(), left = run_s - born;
		double look = 0.002;
		enum survival_end end = SURVIVAL_STILL;

		seen++;
		late += born > run_s * 0.8;
		for (; look < left && end == SURVIVAL_STILL; look *= 1.6)
			end = look >= dies		   ? SURVIVAL_GONE
			      : lost && rnd() < 1.0 / lost ? SURVIVAL_LOST
							   : SURVIVAL_STILL;
		if (end == SURVIVAL_STILL)
			survival_count(steps, left, dies <= left ? SURVIVAL_GONE : SURVIVAL_STILL);
		else
			survival_count(steps, look / 1.6, end);
	}
	survival_conclude(steps, run_s, late, (double)seen * 0.2, &out);
	return out;
}

static void assert_kind(struct survival s, enum survival_kind kind)
{
	if (s.kind != kind)
		fail_msg("%s instead of %s: %g (%g to %g) after %g s, of %llu; half by %g s",
			 survival_name(s.kind), survival_name(kind), s.share, s.low, s.high, s.age_s,
			 (unsigned long long)s.followed, s.half_s);
	assert_true(s.low <= s.share + 1e-9 && s.share <= s.high + 1e-9);
	assert_true(s.low >= 0 && s.high <= 1);
}

static void leaks_stay(void **state)
{
	struct survival s;

	(void)state;
	s = play(forever, 1, 60, 60, 0);
	assert_kind(s, SURVIVAL_STAYS);
	assert_true(s.share == 1 && s.high == 1 && s.low > 0.85 && s.half_s == 0 && s.age_s == 30);
	assert_kind(play(forever, 10, 20, 20, 0), SURVIVAL_STAYS);
	assert_kind(play(forever, 0.05, 1000, 1000, 0), SURVIVAL_STAYS);
	/* not 3 s old yet; too few */
	assert_kind(play(forever, 100, 2, 2, 0), SURVIVAL_UNKNOWN);
	assert_kind(play(forever, 0.1, 60, 60, 0), SURVIVAL_UNKNOWN);
}

/* A site that was found late: its blocks were followed for no more than five seconds. */
static void what_is_young_for_the_watch_is_unknown(void **state)
{
	struct survival_step steps[SURVIVAL_STEPS] = { { 0 } };
	struct survival s;

	(void)state;
	for (unsigned i = 0; i < 70; i++)
		survival_count(steps, 3 + 0.03 * i, SURVIVAL_STILL);
	survival_conclude(steps, 24, 20, 20, &s);
	assert_int_equal(s.kind, SURVIVAL_STAYS);
	assert_true(s.min_age_s == 3);
	survival_conclude(steps, 30, 20, 20, &s);
	assert_int_equal(s.kind, SURVIVAL_UNKNOWN);
	assert_true(s.min_age_s == 10 && s.age_s == 3);
	/* there is no older step than the last one */
	survival_conclude(steps, 1e6, 20, 20, &s);
	assert_true(s.min_age_s == 30000);
}

static void a_share_stays(void **state)
{
	const struct survival s = play(one_in_ten_stays, 10, 100, 100, 0);

	(void)state;
	assert_kind(s, SURVIVAL_STAYS);
	assert_true(s.low < 0.1 && 0.1 < s.high && s.high < 0.15);
	assert_true(s.half_s > 0.002 && s.half_s < 0.03);
}

static void what_is_given_back_goes(void **state)
{
	struct survival s;

	(void)state;
	s = play(a_moment, 100, 20, 20, 0);
	assert_kind(s, SURVIVAL_GOES);
	assert_true(s.share == 0 && s.half_s > 0 && s.half_s < 0.003);
	s = play(five_seconds, 5, 60, 60, 0);
	assert_kind(s, SURVIVAL_GOES);
	assert_true(s.half_s >= 3 && s.half_s <= 10);
	assert_kind(play(about_ten_seconds, 5, 60, 60, 0), SURVIVAL_GOES);
	assert_kind(play(about_ten_seconds, 1, 60, 60, 0), SURVIVAL_GOES);
	/* younger than they become: they look like a leak, but are too young for that conclusion */
	assert_kind(play(five_seconds, 100, 2.9, 2.9, 0), SURVIVAL_UNKNOWN);
}

static void a_few_that_others_took(void **state)
{
	(void)state;
	assert_kind(play(taken_over_seldom, 100, 60, 60, 0), SURVIVAL_GOES);
	/* or does one call in a hundred leak its block? */
	assert_kind(play(taken_over_often, 100, 60, 60, 0), SURVIVAL_UNKNOWN);
}

static void a_table_is_filled_and_stays(void **state)
{
	(void)state;
	assert_kind(play(forever, 100, 60, 3, 0), SURVIVAL_TABLE);
	assert_kind(play(forever, 100, 60, 49, 0), SURVIVAL_STAYS);
	assert_kind(play(forever, 4, 60, 3, 0), SURVIVAL_UNKNOWN);
	assert_kind(play(about_ten_seconds, 100, 60, 3, 0), SURVIVAL_GOES);
}

/* Blocks that cannot be tracked any more make the interval wider. */
static void blocks_of_unknown_fate(void **state)
{
	struct survival s;

	(void)state;
	s = play(forever, 10, 60, 60, 50);
	assert_kind(s, SURVIVAL_STAYS);
	assert_true(s.share == 1 && s.low < 0.8);
	s = play(forever, 10, 60, 60, 10);
	assert_kind(s, SURVIVAL_UNKNOWN);
	assert_true(s.share == 1 && s.low < 0.2);
	s = play(forever, 10, 60, 60, 2);
	assert_kind(s, SURVIVAL_UNKNOWN);
	assert_true(s.low < 0.01 && s.high == 1);
	assert_kind(play(a_moment, 100, 20, 20, 3), SURVIVAL_GOES);
}

/*
 * The blocks look the same, and addresses are allocated again at once: a replaced block is noticed only as
 * often as allocations are seen.
 */
static void what_is_hardly_seen(void **state)
{
	struct survival s;

	(void)state;
	s = play(forever, 5, 60, 60, 0);
	assert_int_equal(survival_doubt(&s, 1), SURVIVAL_SURE);
	assert_int_equal(survival_doubt(&s, 0.1), SURVIVAL_SURE);
	assert_int_equal(survival_doubt(&s, 0.01), SURVIVAL_SURE);
	assert_kind(s, SURVIVAL_STAYS);
	assert_int_equal(survival_doubt(&s, 0.001), SURVIVAL_UNNOTICED);
	assert_kind(s, SURVIVAL_UNKNOWN);
	/*
	 * one of thirty is seen to be freed: if all allocations are seen, some are freed; if one in ten is
	 * seen, ten of thirty
	 */
	s = play(one_in_thirty_goes, 5, 60, 60, 0);
	assert_int_equal(survival_doubt(&s, 1), SURVIVAL_SURE);
	assert_kind(s, SURVIVAL_STAYS);
	assert_int_equal(survival_doubt(&s, 0.1), SURVIVAL_NOTICED);
	assert_kind(s, SURVIVAL_UNKNOWN);
}

static void steps_of_age(void **state)
{
	struct survival_step steps[SURVIVAL_STEPS] = { { 0 } };

	(void)state;
	assert_true(survival_age_s(0) == 0 && survival_age_s(1) == 0.003 && survival_age_s(15) == 30000);
	assert_true(isinf(survival_age_s(16)));
	survival_count(steps, 0, SURVIVAL_GONE);
	survival_count(steps, 0.01, SURVIVAL_LOST);
	survival_count(steps, 1e9, SURVIVAL_STILL);
	assert_true(steps[0].at_risk == 3 && steps[0].gone == 1 && steps[1].at_risk == 2 &&
		    steps[2].at_risk == 2 && steps[2].unknown == 1);
	assert_true(steps[3].at_risk == 1 && steps[15].at_risk == 1 && steps[15].gone == 0);
}

/* A trace may have any numbers. */
static void any_numbers(void **state)
{
	rng = 88172645463325252u;
	(void)state;
	for (int i = 0; i < 20000; i++) {
		struct survival_step steps[SURVIVAL_STEPS];
		struct survival s;

		for (unsigned j = 0; j < SURVIVAL_STEPS; j++)
			steps[j] =
				(struct survival_step){ (uint64_t)(1 / rnd()) - 1, (uint64_t)(1 / rnd()) - 1,
							(uint64_t)(1 / rnd()) - 1 };
		if (i % 7 == 0)
			steps[rng % SURVIVAL_STEPS] =
				(struct survival_step){ rng, UINT64_MAX, UINT64_MAX - 1 };
		survival_conclude(steps, (double)(rng % 1000000), rng % 3, (double)(rng % 30) / 5, &s);
		assert_true(s.kind < SURVIVAL_KIND_COUNT);
		assert_true(s.share >= 0 && s.share <= 1 && s.low >= 0 && s.low <= 1 && s.high >= 0 &&
			    s.high <= 1);
		assert_true(s.half_s >= 0 && s.age_s >= 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_of_age),
		cmocka_unit_test(leaks_stay),
		cmocka_unit_test(what_is_young_for_the_watch_is_unknown),
		cmocka_unit_test(a_share_stays),
		cmocka_unit_test(what_is_given_back_goes),
		cmocka_unit_test(a_few_that_others_took),
		cmocka_unit_test(a_table_is_filled_and_stays),
		cmocka_unit_test(blocks_of_unknown_fate),
		cmocka_unit_test(what_is_hardly_seen),
		cmocka_unit_test(any_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

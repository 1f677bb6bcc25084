/* SPDX-License-Identifier: MIT */
/* sampled_others: tables of tests/victims/sampled at 20,000 pairs a second, watched for 2,850 s with 1 %, and what is changed in them. */
#include "report/sampled_others.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "report/sampled.h"
#include "report/unknown.h"

#define SECONDS 2850.0

/* 48 to 66 bytes, given back at once; who takes the place next may be the leak of 48. */
static const struct survival_step short_lived[SURVIVAL_STEPS] = {
	{ 12334, 6093, 9 }, { 6232, 1084, 219 }, { 4927, 2101, 670 }, { 2156, 881, 529 }, { 744, 117, 121 }, { 506, 0, 0 }, { 506, 0, 0 },
	{ 506, 0, 0 }, { 505, 136, 137 }, { 221, 0, 0 }, { 217, 0, 0 }, { 210, 0, 0 }, { 174, 0, 0 },
};
static const struct survival_step leak[SURVIVAL_STEPS] = {
	{ 1098, 0, 0 }, { 1098, 0, 0 }, { 1096, 0, 0 }, { 1096, 0, 0 }, { 1092, 0, 0 }, { 1092, 0, 0 }, { 1092, 0, 0 }, { 1086, 0, 0 },
	{ 1032, 0, 0 }, { 910, 0, 0 }, { 655, 0, 0 }, { 435, 0, 0 }, { 201, 0, 0 },
};
/* 1 s, and hot enough to be in everybody's way */
static const struct survival_step cache[SURVIVAL_STEPS] = {
	{ 900, 0, 0 }, { 900, 0, 0 }, { 900, 0, 0 }, { 900, 0, 0 }, { 900, 0, 0 }, { 900, 0, 0 }, { 900, 890, 0 }, { 10, 10, 0 },
};

/* @steps: of a place that takes @rate a minute, of @bytes each. */
static struct summary_sample judged(const struct survival_step *steps, double rate, uint64_t bytes)
{
	struct sampled s = {
		.seen = 15000, .late_seen = 3000, .chunk_bytes = 15000 * bytes, .stacks = 1, .exposed_us = 0.05 * SECONDS * 1e6,
		.allocs = { rate, rate * 0.95, rate * 1.05, false }, .late_expected = 3000,
	};
	struct summary_sample its;

	memcpy(s.steps, steps, sizeof(s.steps));
	sampled_judge(&s, SECONDS, &its);
	return its;
}

static struct summary_sample of_short_lived(double rate)
{
	struct summary_sample its = judged(short_lived, rate, 70);

	assert_int_equal(its.survival.kind, SURVIVAL_STAYS);	/* taken by itself */
	assert_true(its.survival.share > SURVIVAL_CHANCE && its.kept_blocks.low > 0);
	return its;
}

static void doubt(struct summary_sample *a, struct summary_sample *b)
{
	struct summary_sample *const all[] = { a, NULL, b };

	sampled_doubt_others(all, 3);
}

static void blocks_of_a_leak(void **state)
{
	struct summary_sample its = of_short_lived(29307), other = judged(leak, 5998, 64);
	const struct estimate may_keep = its.may_keep_bytes;

	(void)state;
	doubt(&its, &other);
	assert_int_equal(its.survival.kind, SURVIVAL_UNKNOWN);
	assert_int_equal(unknown_reason(&its), UNKNOWN_OTHERS);
	assert_string_equal(unknown_name(UNKNOWN_OTHERS), "others");
	assert_false(unknown_for_want(UNKNOWN_OTHERS));
	assert_true(its.kept_bytes.value == 0 && its.kept_bytes.low == 0 && its.kept_bytes.high == may_keep.high);
	assert_true(its.may_keep_bytes.value == may_keep.value);
	/* the leak is what it was, whoever stands beside it, and in whichever order */
	assert_int_equal(other.survival.kind, SURVIVAL_STAYS);
	assert_true(other.kept_blocks.value > 5900);
	its = of_short_lived(29307);
	doubt(&other, &its);
	assert_int_equal(its.survival.kind, SURVIVAL_UNKNOWN);
	assert_int_equal(other.survival.kind, SURVIVAL_STAYS);
}

/* One call in fifteen forgets its block, and nobody else's explain it. */
static void its_own(void **state)
{
	struct summary_sample its = of_short_lived(29307), other = judged(leak, 5998, 200);

	(void)state;
	doubt(&its, NULL);
	assert_int_equal(its.survival.kind, SURVIVAL_STAYS);	/* nobody else */
	doubt(&its, &other);
	assert_int_equal(its.survival.kind, SURVIVAL_STAYS);	/* these are larger, */
	other = judged(leak, 600, 64);
	doubt(&its, &other);
	assert_int_equal(its.survival.kind, SURVIVAL_STAYS);	/* far too few, */
	other = judged(cache, 60000, 64);
	doubt(&its, &other);
	assert_int_equal(its.survival.kind, SURVIVAL_STAYS);	/* gone again at that age, */
	other = of_short_lived(60000);
	doubt(&its, &other);
	assert_int_equal(its.survival.kind, SURVIVAL_STAYS);	/* hardly its own themselves. */
	assert_int_equal(other.survival.kind, SURVIVAL_STAYS);
}

/* It keeps more than all others: these cannot be others'. */
static void more_than_the_others_have(void **state)
{
	struct summary_sample its = of_short_lived(29307 * 30), other = judged(leak, 5998, 64);

	(void)state;
	doubt(&its, &other);
	assert_int_equal(its.survival.kind, SURVIVAL_STAYS);
}

/* How many the other keeps nobody knows. */
static void of_which_nothing_bounds_the_rate(void **state)
{
	struct summary_sample its = of_short_lived(29307), other = judged(leak, 600, 64);

	(void)state;
	other.allocs.at_least = true;
	doubt(&its, &other);
	assert_int_equal(its.survival.kind, SURVIVAL_UNKNOWN);
}

/* A leak of all that it takes is no other's, be there what may. */
static void where_most_is_left(void **state)
{
	struct summary_sample its = judged(leak, 600, 64), other = judged(leak, 600000, 64);

	(void)state;
	doubt(&its, &other);
	assert_int_equal(its.survival.kind, SURVIVAL_STAYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_of_a_leak),
		cmocka_unit_test(its_own),
		cmocka_unit_test(more_than_the_others_have),
		cmocka_unit_test(of_which_nothing_bounds_the_rate),
		cmocka_unit_test(where_most_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * sampled_others: tables from tests/victims/sampled at 20,000 pairs a second, watched for 2,850 s with 1 %,
 * and changed here and there.
 */
#include "report/model/sampled_others.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "report/model/sampled.h"
#include "report/model/unknown_reason.h"

#define SECONDS 2850.0

/* 48 to 66 bytes, freed at once; the next block at the address may be from the leak of 48 bytes. */
static const struct survival_step short_lived[SURVIVAL_STEPS] = {
	{ 12334, 6093, 9 }, { 6232, 1084, 219 }, { 4927, 2101, 670 }, { 2156, 881, 529 }, { 744, 117, 121 },
	{ 506, 0, 0 },	    { 506, 0, 0 },	 { 506, 0, 0 },	      { 505, 136, 137 },  { 221, 0, 0 },
	{ 217, 0, 0 },	    { 210, 0, 0 },	 { 174, 0, 0 },
};
static const struct survival_step leak[SURVIVAL_STEPS] = {
	{ 1098, 0, 0 }, { 1098, 0, 0 }, { 1096, 0, 0 }, { 1096, 0, 0 }, { 1092, 0, 0 },
	{ 1092, 0, 0 }, { 1092, 0, 0 }, { 1086, 0, 0 }, { 1032, 0, 0 }, { 910, 0, 0 },
	{ 655, 0, 0 },	{ 435, 0, 0 },	{ 201, 0, 0 },
};
/* 1 s, and hot enough to disturb all other sites */
static const struct survival_step cache[SURVIVAL_STEPS] = {
	{ 900, 0, 0 }, { 900, 0, 0 }, { 900, 0, 0 },   { 900, 0, 0 },
	{ 900, 0, 0 }, { 900, 0, 0 }, { 900, 890, 0 }, { 10, 10, 0 },
};

/* three of ten are leaked, the others are freed at once */
static const struct survival_step partial[SURVIVAL_STEPS] = {
	{ 3000, 2100, 0 }, { 900, 0, 0 }, { 900, 0, 0 }, { 900, 0, 0 }, { 900, 0, 0 },
	{ 900, 0, 0 },	   { 900, 0, 0 }, { 900, 0, 0 }, { 900, 0, 0 }, { 800, 0, 0 },
	{ 600, 0, 0 },	   { 400, 0, 0 }, { 200, 0, 0 },
};

#define PLACES 101u

static struct summary_sample its[PLACES];
static struct sampled_place places[PLACES];
static size_t nplaces;

/*
 * A site with these @steps, which allocates @rate blocks a minute of @bytes each; @sees is the share that is
 * seen.
 */
static struct summary_sample *place_seen(const struct survival_step *steps, double rate, double bytes,
					 double sees)
{
	struct sampled s = {
		.seen = 15000, .late_seen = 3000, .usable_bytes = 15000 * 64, .stacks = 1,
		.exposed_us = sees * SECONDS * 1e6,
		.allocs = { rate, rate * 0.95, rate * 1.05, false }, .late_expected = 3000,
	};
	struct summary_sample *one = &its[nplaces];

	memcpy(s.steps, steps, sizeof(s.steps));
	sampled_conclude(&s, SECONDS, one);
	places[nplaces++] = (struct sampled_place){ one, bytes };
	return one;
}

static struct summary_sample *place(const struct survival_step *steps, double rate, double bytes)
{
	return place_seen(steps, rate, bytes, 0.05);
}

/* The first site of all. */
static struct summary_sample *of_short_lived(double rate)
{
	struct summary_sample *one;

	nplaces = 0;
	one = place(short_lived, rate, 66);
	assert_int_equal(one->survival.kind, SURVIVAL_STAYS);	/* concluded from its own blocks */
	assert_true(one->survival.share > SURVIVAL_CHANCE && one->kept_blocks.low > 0);
	return one;
}

static enum survival_kind doubted(const struct summary_sample *one)
{
	sampled_doubt_others(places, nplaces, INFINITY);
	return one->survival.kind;
}

/* The conclusion beside one other site. */
static enum survival_kind beside(const struct survival_step *steps, double rate, double bytes)
{
	const struct summary_sample *one = of_short_lived(29307);

	place(steps, rate, bytes);
	return doubted(one);
}

static void blocks_of_a_leak(void **state)
{
	struct summary_sample *one = of_short_lived(29307), *other = place(leak, 5998, 64);
	const struct estimate may_keep = one->may_keep_bytes;

	(void)state;
	assert_int_equal(doubted(one), SURVIVAL_UNKNOWN);
	assert_int_equal(unknown_reason(one), UNKNOWN_OTHERS);
	assert_string_equal(unknown_name(UNKNOWN_OTHERS), "others");
	assert_false(unknown_for_want(UNKNOWN_OTHERS));
	assert_true(one->kept_bytes.value == 0 && one->kept_bytes.low == 0 &&
		    one->kept_bytes.high == may_keep.high);
	assert_true(one->may_keep_bytes.value == may_keep.value);
	/* the conclusion on the leak is unchanged */
	assert_int_equal(other->survival.kind, SURVIVAL_STAYS);
	assert_true(other->kept_blocks.value > 5900);
}

/* A site that leaks three of ten blocks counts; one that leaks no more than the first does not. */
static void blocks_of_one_that_leaks_some(void **state)
{
	(void)state;
	assert_int_equal(beside(partial, 20000, 64), SURVIVAL_UNKNOWN);
	assert_int_equal(its[1].survival.kind, SURVIVAL_STAYS);
	assert_int_equal(beside(short_lived, 60000, 64), SURVIVAL_STAYS);
	assert_int_equal(its[1].survival.kind, SURVIVAL_STAYS);
}

/* Few blocks were tracked, and all of them are lost; or none. */
static struct summary_sample *of_few(uint64_t lost)
{
	struct sampled s = {
		.seen = 4, .late_seen = 1, .usable_bytes = 4 * 64, .stacks = 1, .exposed_us = SECONDS * 1e6,
		.allocs = { 60, 30, 120, false }, .late_expected = 1, .steps = { { 4, 0, 0 }, { 4, 0, 0 } },
		.searched = lost, .lost = lost,
	};
	struct summary_sample *one = &its[nplaces];

	sampled_conclude(&s, SECONDS, one);
	places[nplaces++] = (struct sampled_place){ one, 64 };
	return one;
}

/* What is lost at a site may be another's, which loses as many in the milliseconds before the first look. */
static void what_another_site_has_lost(void **state)
{
	struct summary_sample *one, *other;

	(void)state;
	nplaces = 0;
	one = of_few(4);
	assert_int_equal(one->survival.kind, SURVIVAL_STAYS);
	other = place(leak, 500000, 64);
	assert_int_equal(doubted(one), SURVIVAL_STAYS);		/* it has lost none */
	other->searched = other->lost = 50;
	places[1].bytes = 256;
	assert_int_equal(doubted(one), SURVIVAL_STAYS);
	places[1].bytes = 64;
	other->sees = 1;
	assert_int_equal(doubted(one), SURVIVAL_STAYS);		/* its allocations are seen */
	other->sees = 0.05;
	assert_int_equal(doubted(one), SURVIVAL_UNKNOWN);
	assert_int_equal(unknown_reason(one), UNKNOWN_FEW);
	assert_false(one->by_lost);
	assert_int_equal(other->survival.kind, SURVIVAL_STAYS);
	/* however seldom; but not what frees its blocks */
	nplaces = 0;
	one = of_few(4);
	other = place(leak, 5, 64);
	other->searched = other->lost = 50;
	other->survival.kind = SURVIVAL_GOES;
	assert_int_equal(doubted(one), SURVIVAL_STAYS);
	other->survival.kind = SURVIVAL_STAYS;
	assert_int_equal(doubted(one), SURVIVAL_UNKNOWN);
}

/* What the process loses is known, and so it is of one site; then others can have lost no more than the rest. */
static void more_than_the_process_loses(void **state)
{
	struct summary_sample *one, *other;

	(void)state;
	nplaces = 0;
	one = of_few(4);
	other = place(leak, 5998, 256);
	other->searched = other->lost = 50;
	other->by_probes = true;
	other->kept_blocks = (struct estimate){ 60, 59, 60, false };
	sampled_doubt_others(places, nplaces, 59 + one->kept_blocks.low / 2);
	assert_int_equal(one->survival.kind, SURVIVAL_STAYS);
	sampled_doubt_others(places, nplaces, 59);
	assert_int_equal(one->survival.kind, SURVIVAL_UNKNOWN);
	assert_int_equal(other->survival.kind, SURVIVAL_STAYS);
	/* its blocks' ages show that they stay: of these so large a part is lost, and not if none is */
	nplaces = 0;
	one = place(leak, 5998, 64);
	one->searched = 50;
	sampled_doubt_others(places, nplaces, 1000);
	assert_int_equal(one->survival.kind, SURVIVAL_STAYS);
	one->lost = 5;
	sampled_doubt_others(places, nplaces, 1000);
	assert_int_equal(one->survival.kind, SURVIVAL_STAYS);
	one->lost = 25;
	sampled_doubt_others(places, nplaces, 1000);
	assert_int_equal(unknown_reason(one), UNKNOWN_OTHERS);
}

/* Eight blocks of the other site were followed, for a second: none was freed. */
static void blocks_of_one_that_is_seen_late(void **state)
{
	struct survival_step late[SURVIVAL_STEPS];

	(void)state;
	memset(late, 0, sizeof(late));
	for (unsigned i = 0; survival_age_s(i) <= 1; i++)
		late[i].at_risk = 8;
	assert_int_equal(beside(late, 60000, 64), SURVIVAL_UNKNOWN);
	assert_int_equal(its[1].survival.kind, SURVIVAL_UNKNOWN);
	for (unsigned i = 0; i < SURVIVAL_STEPS; i++)
		late[i].at_risk = survival_age_s(i) < 0.9 ? 8 : 0;
	assert_int_equal(beside(late, 60000, 64), SURVIVAL_STAYS);
}

/* One call in fifteen leaks its block, and the blocks of no other site can explain that. */
static void its_own(void **state)
{
	struct survival_step few[SURVIVAL_STEPS] = { { 7, 0, 0 } },
			     young[SURVIVAL_STEPS] = { { 900, 0, 0 }, { 900, 0, 900 } };

	(void)state;
	assert_int_equal(doubted(of_short_lived(29307)), SURVIVAL_STAYS);	/* there is no other site */
	assert_int_equal(beside(leak, 5998, 200), SURVIVAL_STAYS);	/* these are larger, */
	assert_int_equal(beside(leak, 600, 64), SURVIVAL_STAYS);	/* far too few, */
	assert_int_equal(beside(cache, 60000, 64), SURVIVAL_STAYS);	/* freed again by that age, */
	/* it is not known whether they leak: hardly any were tracked, */
	assert_int_equal(beside(few, 60000, 64), SURVIVAL_STAYS);
	assert_int_equal(beside(young, 60000, 64), SURVIVAL_STAYS);	/* or all were written to */
}

/*
 * If a block of the other site is seen when it is allocated, tracking ends for the block that was at its
 * address.
 */
static void a_block_that_was_seen_is_of_its_own_site(void **state)
{
	struct summary_sample *one = of_short_lived(29307);

	(void)state;
	place_seen(leak, 5998, 64, 0.98);
	assert_int_equal(doubted(one), SURVIVAL_STAYS);
	one = of_short_lived(29307);
	place_seen(leak, 5998, 64, 1);
	its[1].allocs.at_least = true;
	assert_int_equal(doubted(one), SURVIVAL_STAYS);
}

/* It leaks more than all others: these blocks cannot be from others. */
static void more_than_the_others_have(void **state)
{
	struct summary_sample *one = of_short_lived(29307 * 30);

	(void)state;
	place(leak, 5998, 64);
	assert_int_equal(doubted(one), SURVIVAL_STAYS);
}

/*
 * A hundred slow sites together count. But each has an upper bound of its own, and the sum of these bounds is
 * not the bound of the sum.
 */
static void many_are_added_up(void **state)
{
	struct summary_sample *one = of_short_lived(29307);

	(void)state;
	for (int i = 0; i < 100; i++)
		place(leak, 60, 64);
	assert_int_equal(doubted(one), SURVIVAL_UNKNOWN);
	one = of_short_lived(29307);
	for (int i = 0; i < 100; i++) {
		place(leak, 3, 64);
		its[i + 1].allocs.high = 30;
	}
	assert_int_equal(doubted(one), SURVIVAL_STAYS);
}

/* It is not known how many blocks the other site leaks. */
static void of_which_nothing_bounds_the_rate(void **state)
{
	struct summary_sample *one = of_short_lived(29307);

	(void)state;
	place(leak, 600, 64)->allocs.at_least = true;
	assert_int_equal(doubted(one), SURVIVAL_UNKNOWN);
}

/* A site that leaks every block is reported as a leak, whatever other sites there are. */
static void where_most_is_left(void **state)
{
	(void)state;
	nplaces = 0;
	place(leak, 600, 64);
	place(leak, 600000, 64);
	assert_int_equal(doubted(&its[0]), SURVIVAL_STAYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_of_a_leak),
		cmocka_unit_test(blocks_of_one_that_leaks_some),
		cmocka_unit_test(blocks_of_one_that_is_seen_late),
		cmocka_unit_test(its_own),
		cmocka_unit_test(a_block_that_was_seen_is_of_its_own_site),
		cmocka_unit_test(more_than_the_others_have),
		cmocka_unit_test(many_are_added_up),
		cmocka_unit_test(what_another_site_has_lost),
		cmocka_unit_test(more_than_the_process_loses),
		cmocka_unit_test(of_which_nothing_bounds_the_rate),
		cmocka_unit_test(where_most_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * replaced: a ledger in which older blocks are freed while others come. What came for them is no growth, as the report
 * has it (report/account.h); what is more than that is.
 */
#include "report/groups/replaced.h"

#include <math.h>
#include <stdlib.h>

#include "report/account.h"
#include "tests/unit/ledger_facts.h"

#define SECONDS 40
#define STEPS 4000			/* of a hundredth of a second */
#define SIZE 104			/* a size that glibc gives */

static struct summary summary;
static taddr next;

/* Stack i: one frame, at its own address. */
static void define_frames(void)
{
	define_family(0, "libc");
	for (uint32_t i = 0; i < STACKS; i++) {
		struct fact frame = info(MMT_FRAME), node = info(MMT_NODE), stack = info(MMT_STACK);

		frame.frame.number = i;
		frame.frame.pc = 0x1000 * (i + 1);
		take(&frame);
		node.node.number = i + 1;
		node.node.frame = i;
		take(&node);
		stack.stack.number = STACKS + i;
		stack.stack.node = i + 1;
		take(&stack);
	}
}

static int begin(void **state)
{
	setup(state);
	define_frames();
	next = A;
	return 0;
}

static int end(void **state)
{
	summary_fini(&summary);
	return teardown(state);
}

static void at(uint32_t step)
{
	now = (uint64_t)step * SECONDS * SECOND / STEPS;
}

static void allocate(uint64_t size, uint32_t stack)
{
	alloc(next, size, STACKS + stack);
	next += 0x200;
}

static void free_older(uint64_t size, uint64_t blocks)
{
	struct fact f = info(MMT_OLDER);

	f.time_us = now;
	f.place.size = size;
	f.place.frees = blocks;
	f.place.bytes = size * blocks;
	for (uint64_t i = 0; i < blocks; i++)
		simple(MMT_OLD, B + 0x10000000);
	take(&f);
}

static void judge(void)
{
	const struct groups_options options = { 0 };

	now = SECONDS * SECOND;
	ledger_pass(&ledger, now);
	assert_int_equal(account_summary(&ledger, &options, &summary), 0);
}

static const struct summary_group *of(uint32_t stack)
{
	for (size_t i = 0; i < summary.ngroups; i++)
		if (summary.groups[i].stack.frames[0].pc == 0x1000 * (stack + 1))
			return &summary.groups[i];
	fail();
	return NULL;
}

/* Blocks a second, as bytes a minute. */
static void assert_rate(double is, double blocks_a_second)
{
	const double wanted = blocks_a_second * SIZE * 60;

	if (fabs(is - wanted) > 0.05 * wanted)
		fail_msg("%.0f instead of %.0f", is, wanted);
}

/* --- --- */

static void steady_replacement_does_not_grow(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < STEPS; i++) {
		at(i);
		allocate(SIZE, 1);
		free_older(SIZE, 1);
	}
	judge();
	assert_int_equal(of(1)->growth.shape, GROWTH_LEVEL);
	assert_true(growth_only_replaces(&of(1)->growth));
	assert_rate(of(1)->growth.replaced_per_minute, 100);
	assert_int_equal(summary.totals.older_blocks, STEPS);
	assert_int_equal(summary.totals.older_bytes, STEPS * SIZE);
	assert_int_equal(summary_older_unknown(&summary.totals), 0);
}

/* The new ones come some time before, or after, in lumps. */
static void lumps_are_matched(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < STEPS; i++) {
		at(i);
		allocate(SIZE, 1);
		if (i % 200 == 199)
			free_older(SIZE, 200);
	}
	judge();
	assert_false(growth_rises(&of(1)->growth));
	assert_rate(of(1)->growth.replaced_per_minute, 100);
}

static void a_leak_of_the_same_class_is_the_difference(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < STEPS; i++) {
		at(i);
		allocate(SIZE, 1);
		if (i % 2)
			allocate(SIZE - 8, 2);	/* what was requested is of the class, too */
		free_older(SIZE, 1);
	}
	judge();
	assert_true(growth_rises(&of(1)->growth) && growth_rises(&of(2)->growth));
	assert_rate(of(1)->growth.bytes_per_minute + of(2)->growth.bytes_per_minute, 48);
	assert_rate(of(1)->growth.replaced_per_minute + of(2)->growth.replaced_per_minute, 98.5);
	/* in proportion to what each added */
	assert_true(fabs(of(1)->growth.bytes_per_minute / of(2)->growth.bytes_per_minute - 2) < 0.2);
}

/* One in so many, while chance makes the frees come a bit sooner or later. */
static void leak_slowly(uint32_t one_in)
{
	uint32_t seed = 1;

	for (uint32_t i = 0; i < STEPS; i++) {
		at(i);
		allocate(SIZE, 1);
		if (i % one_in == 0)
			allocate(SIZE, 1);
		seed = seed * 1103515245 + 12345;
		if (seed >> 30)
			free_older(SIZE, 1 + (seed >> 30 == 3));	/* 4 in 4 turns, on average */
	}
	judge();
}

static void a_slow_leak_is_not_hidden(void **state)
{
	(void)state;
	leak_slowly(5);
	assert_true(growth_rises(&of(1)->growth));
	assert_true(fabs(of(1)->growth.bytes_per_minute - 20 * SIZE * 60) < 6 * SIZE * 60);
}

/* It cannot be told from chance: so it is not said that it does not grow. */
static void nor_is_a_very_slow_one(void **state)
{
	(void)state;
	leak_slowly(20);
	assert_true(growth_goes_on(&of(1)->growth));
}

static void other_sizes_replace_nothing(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < STEPS; i++) {
		at(i);
		allocate(SIZE, 1);
		free_older(SIZE + 16, 1);
		free_older(40, 2);
	}
	judge();
	assert_int_equal(of(1)->growth.shape, GROWTH_GROWS);
	assert_rate(of(1)->growth.bytes_per_minute, 100);
	assert_true(of(1)->growth.replaced_per_minute == 0);
}

/* However many they are, and whenever that is. */
static void a_burst_does_not_cancel_what_goes_on(void **state)
{
	const uint32_t burst = *(const uint32_t *)*state;

	(void)begin(state);
	for (uint32_t i = 0; i < STEPS; i++) {
		at(i);
		allocate(SIZE, 1);
		if (i == burst)
			free_older(SIZE, 3 * STEPS);
	}
	judge();
	assert_true(growth_rises(&of(1)->growth));
	assert_true(of(1)->growth.bytes_per_minute > 45. * SIZE * 60);
	if (burst < STEPS / 2)
		assert_rate(of(1)->growth.bytes_per_minute, 100);
}

/* A stack with blocks of several sizes: only those of the one are replaced. */
static void a_part_of_a_stack_is_replaced(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < STEPS; i++) {
		at(i);
		allocate(SIZE, 1);
		allocate(3 * SIZE, 1);
		free_older(SIZE, 1);
	}
	judge();
	assert_true(growth_rises(&of(1)->growth));
	assert_rate(of(1)->growth.bytes_per_minute, 300);
	assert_rate(of(1)->growth.replaced_per_minute, 100);
}

/* What is lost is a leak, whatever was freed meanwhile. */
static void lost_blocks_replace_nothing(void **state)
{
	const struct fact_verdicts look = { .number = 1, .known = true, .judged = STEPS };
	struct fact f = info(MMT_VERDICTS), judged = info(MMT_JUDGED);

	(void)state;
	for (uint32_t i = 0; i < STEPS; i++) {
		at(i);
		allocate(SIZE, 1);
		free_older(SIZE, 1);
	}
	f.look = &look;
	take(&f);
	judged.judged.verdict = VERDICT_DEFINITE;
	judged.judged.n = 1;
	for (uint32_t i = 0; i < STEPS; i++) {
		const struct fact_judged its = { A + 0x200ull * i, 0, 0 };

		judged.judged.all = &its;
		take(&judged);
	}
	judge();
	assert_int_equal(of(1)->verdict, VERDICT_DEFINITE);
	assert_int_equal(of(1)->growth.shape, GROWTH_GROWS);
	assert_rate(of(1)->growth.bytes_per_minute, 100);
}

static void sizes_may_be_unknown(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < STEPS; i++) {
		at(i);
		allocate(SIZE, 1);
		simple(MMT_OLD, B + 0x10000000);
		if (i % 2)
			free_older(SIZE, 1);
	}
	judge();
	assert_rate(of(1)->growth.bytes_per_minute, 50);
	assert_int_equal(summary_older_unknown(&summary.totals), STEPS);
}

int main(void)
{
	static uint32_t early = 100, middle = 2000, late = 3500;
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
#define BURST(moment) { "a burst, " #moment, a_burst_does_not_cancel_what_goes_on, NULL, end, &(moment) }
	const struct CMUnitTest tests[] = {
		TEST(steady_replacement_does_not_grow),
		TEST(lumps_are_matched),
		TEST(a_leak_of_the_same_class_is_the_difference),
		TEST(a_slow_leak_is_not_hidden),
		TEST(nor_is_a_very_slow_one),
		TEST(other_sizes_replace_nothing),
		BURST(early), BURST(middle), BURST(late),
		TEST(a_part_of_a_stack_is_replaced),
		TEST(lost_blocks_replace_nothing),
		TEST(sizes_may_be_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

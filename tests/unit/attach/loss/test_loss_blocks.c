/* SPDX-License-Identifier: MIT */
/* Whose the lost blocks are that were seen being allocated (attach/loss/loss_blocks.h). */
#include "attach/loss/loss_blocks.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define LEAKS 7		/* numbers of stacks */
#define FREES 9
#define OTHER 11
#define FAMILY 2

static struct loss_blocks b;
static struct loss lost;
static uint64_t now_ns = 5000000000ull;

static int begin(void **state)
{
	static const uint64_t sizes[] = { 24, 40, 72, 1200 };

	(void)state;
	loss_blocks_init(&b, sizes, 4);
	return 0;
}

static int end(void **state)
{
	(void)state;
	loss_blocks_fini(&b);
	loss_fini(&lost);
	return 0;
}

static void see(uint32_t number, taddr addr, uint64_t size)
{
	assert_int_equal(loss_blocks_add(&b, FAMILY, number, &(struct loss_block){ addr, size, now_ns }), 0);
}

static void lose(taddr addr, uint64_t size)
{
	assert_int_equal(loss_add(&lost, addr, size), 0);
}

static const struct loss_stack *of(uint32_t number)
{
	for (size_t i = 0; i < b.n; i++)
		if (b.stacks[i].number == number)
			return &b.stacks[i];
	fail_msg("stack %u is not known", number);
	return NULL;
}

/* Sorted by size, as at the end. */
static void judge(void)
{
	struct loss none = { 0 };
	struct loss_sum sum;

	loss_between(&none, &lost, &sum);
	assert_int_equal(loss_blocks_sum(&b, &lost), 0);
}

/* A stack that frees its blocks, whose addresses the leak gets: while all is seen, the last one that got it has it. */
static void the_last_owner_counts(void **state)
{
	(void)state;
	for (taddr at = 0x1000; at < 0x1100; at += 16) {
		see(FREES, at, 20);
		see(LEAKS, at, 24);
		lose(at, 24);
	}
	assert_int_equal(loss_blocks_find(&b, &lost, UINT64_MAX), 0);
	judge();
	assert_int_equal(of(LEAKS)->its.seen, 16);
	assert_int_equal(of(LEAKS)->its.lost, 16);
	assert_int_equal(of(LEAKS)->its.blocks, 16);
	assert_int_equal(of(LEAKS)->its.bytes, 16 * 24);
	assert_int_equal(of(LEAKS)->family, FAMILY);
	assert_int_equal(of(FREES)->its.seen, 16);
	assert_int_equal(of(FREES)->its.lost, 0);
	assert_int_equal(of(FREES)->its.blocks, 0);
}

/* What is lost in a later copy only may be another's by then. */
static void only_the_next_copy_counts(void **state)
{
	(void)state;
	for (taddr at = 0x1000; at < 0x1100; at += 16)
		see(FREES, at, 24);
	assert_int_equal(loss_blocks_find(&b, &lost, UINT64_MAX), 0);
	for (taddr at = 0x1000; at < 0x1100; at += 16)
		lose(at, 24);
	assert_int_equal(loss_blocks_find(&b, &lost, UINT64_MAX), 0);
	judge();
	assert_int_equal(of(FREES)->its.seen, 16);
	assert_int_equal(of(FREES)->its.lost, 0);
}

static void what_was_dropped_is_not_known(void **state)
{
	(void)state;
	see(LEAKS, 0x1000, 24);
	lose(0x1000, 24);
	loss_blocks_drop(&b);
	assert_int_equal(loss_blocks_find(&b, &lost, UINT64_MAX), 0);
	judge();
	assert_int_equal(of(LEAKS)->its.seen, 0);
	assert_int_equal(of(LEAKS)->its.lost, 0);
}

/* A block of another size has the address: it was not recorded. */
static void a_block_of_another_size_is_another(void **state)
{
	(void)state;
	see(LEAKS, 0x1000, 24);
	see(LEAKS, 0x2000, 24);
	see(LEAKS, 0x3000, 1000);
	lose(0x1000, 16);
	lose(0x2000, 72);
	lose(0x3000, 1200);
	assert_int_equal(loss_blocks_find(&b, &lost, UINT64_MAX), 0);
	judge();
	assert_int_equal(of(LEAKS)->its.lost, 1);
	assert_int_equal(loss_blocks_least_request(24), 0);
	assert_int_equal(loss_blocks_least_request(64), 24);
	assert_int_equal(loss_blocks_least_request(4000), 3000);
}

/* Two are an accident; three are not. */
static void few_prove_nothing(void **state)
{
	(void)state;
	for (taddr i = 0; i < 3; i++) {
		see(LEAKS, 0x1000 + 16 * i, 24);
		lose(0x1000 + 16 * i, 24);
	}
	for (taddr i = 0; i < 2; i++) {
		see(OTHER, 0x2000 + 16 * i, 24);
		lose(0x2000 + 16 * i, 24);
	}
	assert_int_equal(loss_blocks_find(&b, &lost, UINT64_MAX), 0);
	judge();
	assert_int_equal(of(OTHER)->its.lost, 2);
	assert_int_equal(of(OTHER)->its.blocks, 0);
	assert_int_equal(of(LEAKS)->its.blocks, 3);
}

/* The process has lost 100 blocks of 24 bytes and 10 of 40; 30 of the first were found, two thirds of them of one stack. */
static void a_part_of_all_is_its(void **state)
{
	(void)state;
	for (taddr i = 0; i < 30; i++)
		see(i < 20 ? LEAKS : OTHER, 0x1000 + 16 * i, 24);
	for (taddr i = 0; i < 100; i++)
		lose(0x1000 + 16 * i, 24);
	for (taddr i = 0; i < 10; i++)
		lose(0x9000 + 64 * i, 40);
	assert_int_equal(loss_blocks_find(&b, &lost, UINT64_MAX), 0);
	judge();
	assert_int_equal(of(LEAKS)->its.blocks, 67);
	assert_int_equal(of(LEAKS)->its.bytes, 1600);
	assert_in_range(of(LEAKS)->its.least, 45, 55);
	assert_in_range(of(LEAKS)->its.most, 78, 85);
	assert_int_equal(of(OTHER)->its.blocks, 33);
	assert_true(of(OTHER)->its.least >= 10);
}

static void two_are_found(void)
{
	for (taddr i = 0; i < 2; i++) {
		see(LEAKS, 0x1000 + 16 * i, 24);
		lose(0x1000 + 16 * i, 24);
	}
	assert_int_equal(loss_blocks_find(&b, &lost, UINT64_MAX), 0);
}

/*
 * In the last copy, which no later one confirms, blocks count that are older than a second; and two must have been found
 * in an earlier one.
 */
static void the_last_copy(void **state)
{
	(void)state;
	two_are_found();
	for (taddr i = 2; i < 6; i++) {
		now_ns += 500000000;
		see(LEAKS, 0x1000 + 16 * i, 24);
		see(OTHER, 0x2000 + 16 * i, 24);
		lose(0x1000 + 16 * i, 24);
		lose(0x2000 + 16 * i, 24);
	}
	assert_int_equal(loss_blocks_find_last(&b, &lost, now_ns), 0);
	judge();
	assert_int_equal(of(LEAKS)->its.lost, 4);
	assert_int_equal(of(LEAKS)->its.seen, 4);
	assert_true(of(LEAKS)->its.blocks > 0);
	assert_int_equal(of(OTHER)->its.seen, 2);
	assert_int_equal(of(OTHER)->its.lost, 2);
	assert_int_equal(of(OTHER)->its.blocks, 0);
}

/* The process could not be copied at the end: then nothing confirms what the last copy before has found. */
static void a_copy_that_was_the_last_one(void **state)
{
	(void)state;
	two_are_found();
	for (taddr i = 2; i < 6; i++) {
		see(LEAKS, 0x1000 + 16 * i, 24);
		see(OTHER, 0x2000 + 16 * i, 24);
		lose(0x1000 + 16 * i, 24);
		lose(0x2000 + 16 * i, 24);
	}
	assert_int_equal(loss_blocks_find(&b, &lost, UINT64_MAX), 0);
	see(OTHER, 0x5000, 24);
	loss_blocks_found_last(&b);
	judge();
	assert_int_equal(of(LEAKS)->its.lost, 6);
	assert_true(of(LEAKS)->its.blocks > 0);
	assert_int_equal(of(OTHER)->its.seen, 4);
	assert_int_equal(of(OTHER)->its.lost, 4);
	assert_int_equal(of(OTHER)->its.blocks, 0);
}

/* A block that was lost, came back, and was freed: another one has its address, and is lost. */
static void an_address_counts_once(void **state)
{
	(void)state;
	see(OTHER, 0x1000, 24);
	lose(0x1000, 24);
	assert_int_equal(loss_blocks_find(&b, &lost, UINT64_MAX), 0);
	see(LEAKS, 0x1000, 24);
	assert_int_equal(loss_blocks_find(&b, &lost, UINT64_MAX), 0);
	judge();
	assert_int_equal(of(OTHER)->its.lost, 0);
	assert_int_equal(of(OTHER)->back, 1);
	assert_int_equal(of(LEAKS)->its.lost, 1);
}

/* A stack whose blocks are lost in one copy, and not in the last one: something points to them after all. */
static void what_comes_back_decides_nothing(void **state)
{
	(void)state;
	for (taddr i = 0; i < 10; i++) {
		see(LEAKS, 0x1000 + 16 * i, 24);
		lose(0x1000 + 16 * i, 24);
	}
	assert_int_equal(loss_blocks_find(&b, &lost, UINT64_MAX), 0);
	lost.n = 8;
	judge();
	assert_int_equal(of(LEAKS)->its.lost, 8);
	assert_int_equal(of(LEAKS)->back, 2);
	assert_int_equal(of(LEAKS)->its.blocks, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_last_owner_counts, begin, end),
		cmocka_unit_test_setup_teardown(only_the_next_copy_counts, begin, end),
		cmocka_unit_test_setup_teardown(what_was_dropped_is_not_known, begin, end),
		cmocka_unit_test_setup_teardown(a_block_of_another_size_is_another, begin, end),
		cmocka_unit_test_setup_teardown(few_prove_nothing, begin, end),
		cmocka_unit_test_setup_teardown(a_part_of_all_is_its, begin, end),
		cmocka_unit_test_setup_teardown(the_last_copy, begin, end),
		cmocka_unit_test_setup_teardown(a_copy_that_was_the_last_one, begin, end),
		cmocka_unit_test_setup_teardown(an_address_counts_once, begin, end),
		cmocka_unit_test_setup_teardown(what_comes_back_decides_nothing, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

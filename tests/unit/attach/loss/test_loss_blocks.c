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
#define AT 0x7f0000001000ull

static struct loss_blocks b;
static struct loss lost;
static struct addrmap marks;	/* of blocks in the next copy */
static uint64_t now_ns = 5000000000ull;

static int begin(void **state)
{
	static const uint64_t sizes[] = { 24, 40, 72, 1200 };

	(void)state;
	loss_blocks_init(&b, sizes, 4);
	addrmap_init(&marks, sizeof(uint64_t));
	return 0;
}

static int end(void **state)
{
	(void)state;
	loss_blocks_fini(&b);
	addrmap_fini(&marks);
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

/* In the next copy the block has that content. */
static void mark(taddr addr, uint64_t content)
{
	assert_int_equal(addrmap_put(&marks, addr, &content), 0);
}

/* The end of a window. */
static void copied(void)
{
	assert_int_equal(loss_blocks_find(&b, &(struct loss_copied){ UINT64_MAX, &lost, &marks }), 0);
	addrmap_clear(&marks);
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
	copied();
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
	copied();
	for (taddr at = 0x1000; at < 0x1100; at += 16)
		lose(at, 24);
	copied();
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
	copied();
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
	copied();
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
	copied();
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
	copied();
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
	copied();
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
	assert_int_equal(loss_blocks_find_last(&b, &(struct loss_copied){ now_ns, &lost, &marks }), 0);
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
	copied();
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
	copied();
	see(LEAKS, 0x1000, 24);
	copied();
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
	copied();
	lost.n = 8;
	judge();
	assert_int_equal(of(LEAKS)->its.lost, 8);
	assert_int_equal(of(LEAKS)->back, 2);
	assert_int_equal(of(LEAKS)->its.blocks, 0);
}

/* A window in which @n blocks are allocated, and are live at its end, each with a content of its own. */
static void window_of(uint32_t number, taddr from, unsigned n)
{
	for (taddr at = from; at < from + n * 0x100; at += 0x100) {
		see(number, at, 40);
		mark(at, at | 1);
	}
	copied();
}

static void later_lost(taddr from, unsigned n, uint64_t content)
{
	for (taddr at = from; at < from + n * 0x100; at += 0x100) {
		lose(at, 40);
		mark(at, content ? content : at | 1);
	}
}

/* Their holder goes only after the probes were out: they have the same content as before. */
static void what_is_lost_later(void **state)
{
	(void)state;
	window_of(LEAKS, 0x10000, 16);
	later_lost(0x10000, 16, 0);
	copied();
	copied();
	judge();
	assert_true(of(LEAKS)->its.lost == 16 && of(LEAKS)->its.seen == 16 && of(LEAKS)->its.blocks == 16);
}

/* It is looked for until it is lost. */
static void what_is_lost_much_later(void **state)
{
	(void)state;
	window_of(LEAKS, 0x10000, 16);
	later_lost(0x10000, 16, 0);
	loss_fini(&lost);
	copied();
	later_lost(0x10000, 16, 0);
	copied();
	judge();
	assert_int_equal(of(LEAKS)->its.blocks, 16);
}

/* The addresses are the leak's, but the blocks are others: their content is another. */
static void others_got_the_addresses(void **state)
{
	(void)state;
	window_of(FREES, 0x10000, 16);
	later_lost(0x10000, 16, 77);
	copied();
	later_lost(0x10000, 16, 0);
	copied();
	judge();
	assert_true(of(FREES)->its.lost == 0 && of(FREES)->its.blocks == 0 && of(FREES)->gone == 16);
}

/* One part in eight has the same content as before: by chance. */
static void a_few_are_chance(void **state)
{
	(void)state;
	window_of(FREES, 0x10000, 64);
	later_lost(0x10000, 8, 0);
	copied();
	copied();
	judge();
	assert_true(of(FREES)->later == 8 && of(FREES)->gone == 56);
	assert_true(of(FREES)->its.lost == 0 && of(FREES)->its.blocks == 0);
}

/* Of blocks with the same content it is not known which is which; nor of one whose content comes again. */
static void alike_ones_are_not_known(void **state)
{
	(void)state;
	for (taddr at = 0x10000; at < 0x11000; at += 0x100) {
		see(LEAKS, at, 40);
		mark(at, 5);
	}
	window_of(OTHER, 0x20000, 16);
	for (taddr at = 0x30000; at < 0x31000; at += 0x100) {
		see(FREES, at, 40);
		mark(at, (at - 0x10000) | 1);
	}
	later_lost(0x20000, 0, 0);
	copied();
	for (taddr at = 0x10000; at < 0x11000; at += 0x100) {
		lose(at, 40);
		mark(at, 5);
	}
	later_lost(0x20000, 16, 0);
	copied();
	copied();
	judge();
	assert_true(of(LEAKS)->its.lost == 0 && of(OTHER)->its.lost == 0);
}

/* Seen being allocated again: it was freed. */
static void an_address_that_is_allocated_again(void **state)
{
	(void)state;
	window_of(FREES, 0x10000, 16);
	for (taddr at = 0x10000; at < 0x11000; at += 0x100)
		see(LEAKS, at, 40);
	later_lost(0x10000, 16, 0);
	copied();
	copied();
	judge();
	assert_true(of(FREES)->its.lost == 0 && of(FREES)->gone == 16 && of(LEAKS)->its.lost == 16);
}

static int name_one(void *ctx, taddr addr, uint64_t size)
{
	uint64_t *sum = ctx;

	*sum += addr + size;
	return 0;
}

/* The content of blocks of the present window is asked for, and of those that may be lost later. */
static void all_are_named(void **state)
{
	uint64_t sum = 0;

	(void)state;
	window_of(LEAKS, 0x10000, 1);
	see(LEAKS, 0x20000, 24);
	assert_int_equal(loss_blocks_each(&b, name_one, &sum), 0);
	assert_int_equal(sum, 0x10000 + 40 + 0x20000 + 24);
}

/* Counts, lengths and flags may change; text and pointers tell blocks apart; zeros do not. */
static void marks_of_contents(void **state)
{
	static const uint64_t one[4] = { 0x7f0012345678, 3, 0x100000002, 0x7f0012345600 },
			      counted[4] = { 0x7f0012345678, 4, 0x200000002, 0x7f0012345600 },
			      other[4] = { 0x7f0012345678, 3, 0x100000002, 0x7f0012345601 },
			      moved[4] = { 3, 0x7f0012345678, 0x100000002, 0x7f0012345600 },
			      half[4] = { 0x7f0012345678, 3, 0x100000002 | 0x70000, 0x7f0012345600 },
			      none[4] = { 1, 2, 3, 0x500000009 }, itself[4] = { AT, AT + 8, AT + 31, 2 };

	(void)state;
	assert_true(loss_mark(AT, 32, one, 32) == loss_mark(AT, 32, counted, 32));
	assert_true(loss_mark(AT, 32, one, 32) != loss_mark(AT, 32, other, 32));
	assert_true(loss_mark(AT, 32, one, 32) != loss_mark(AT, 32, moved, 32));
	assert_true(loss_mark(AT, 32, one, 32) != loss_mark(AT, 32, half, 32));
	assert_int_equal(loss_mark(AT, 32, none, 32), 0);
	assert_int_equal(loss_mark(AT, 32, one, 0), 0);
	/* a list that is empty: any such block has that there */
	assert_int_equal(loss_mark(AT, 32, itself, 32), 0);
	assert_int_not_equal(loss_mark(AT + 32, 32, itself, 32), 0);
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
		cmocka_unit_test_setup_teardown(what_is_lost_later, begin, end),
		cmocka_unit_test_setup_teardown(what_is_lost_much_later, begin, end),
		cmocka_unit_test_setup_teardown(others_got_the_addresses, begin, end),
		cmocka_unit_test_setup_teardown(a_few_are_chance, begin, end),
		cmocka_unit_test_setup_teardown(alike_ones_are_not_known, begin, end),
		cmocka_unit_test_setup_teardown(an_address_that_is_allocated_again, begin, end),
		cmocka_unit_test_setup_teardown(all_are_named, begin, end),
		cmocka_unit_test(marks_of_contents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

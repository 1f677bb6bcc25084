/* SPDX-License-Identifier: MIT */
/* What was lost between two copies (attach/loss/loss.h). */
#include "attach/loss/loss.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void add(struct loss *l, taddr addr, uint64_t size)
{
	assert_int_equal(loss_add(l, addr, size), 0);
}

static void only_what_is_new_counts(void **state)
{
	struct loss earlier = { 0 }, later = { 0 };
	struct loss_sum sum;

	(void)state;
	add(&earlier, 0x3000, 40);
	add(&earlier, 0x1000, 24);
	add(&earlier, 0x2000, 24);
	/* still lost; at the same address, but larger: another block; no longer lost: 0x2000; new: 0x4000, 0x500 */
	add(&later, 0x4000, 40);
	add(&later, 0x3000, 56);
	add(&later, 0x1000, 24);
	add(&later, 0x500, 8);
	loss_between(&earlier, &later, &sum);
	assert_int_equal(sum.before_blocks, 3);
	assert_int_equal(sum.before_bytes, 88);
	assert_int_equal(sum.blocks, 3);
	assert_int_equal(sum.bytes, 104);
	assert_int_equal(sum.back, 2);
	assert_false(loss_is_doubtful(&sum));
	loss_fini(&earlier);
	loss_fini(&later);
}

/* Two may be chance, and one of twenty. */
static void what_comes_back_is_not_lost_for_good(void **state)
{
	(void)state;
	assert_false(loss_is_doubtful(&(struct loss_sum){ .before_blocks = 2, .back = 2 }));
	assert_true(loss_is_doubtful(&(struct loss_sum){ .before_blocks = 3, .back = 3 }));
	assert_false(loss_is_doubtful(&(struct loss_sum){ .before_blocks = 1000, .back = 50 }));
	assert_true(loss_is_doubtful(&(struct loss_sum){ .before_blocks = 1000, .back = 51 }));
	/* unless ten times as many are lost meanwhile */
	assert_true(loss_is_doubtful(&(struct loss_sum){ .before_blocks = 300, .back = 23, .blocks = 229 }));
	assert_false(loss_is_doubtful(&(struct loss_sum){ .before_blocks = 300, .back = 23, .blocks = 230 }));
}

static void put(struct loss *l, size_t n, uint64_t size)
{
	for (size_t i = 0; i < n; i++)
		add(l, 0x100000 * size + 0x1000 * i, size);
}

/* Blocks of 40 bytes come back: then nothing is known of these, but of others it is. */
static void sizes_of_which_blocks_come_back(void **state)
{
	struct loss earlier = { 0 }, later = { 0 };
	struct loss_sum sum;

	(void)state;
	put(&earlier, 100, 40);
	put(&earlier, 100, 56);
	put(&later, 90, 40);
	put(&later, 98, 56);
	for (size_t i = 0; i < 30; i++) {
		add(&later, 0x900000 + 0x1000 * i, 40);
		add(&later, 0xa00000 + 0x1000 * i, 56);
	}
	loss_between(&earlier, &later, &sum);
	assert_int_equal(sum.blocks, 30);
	assert_int_equal(sum.bytes, 30 * 56);
	assert_int_equal(sum.doubtful, 30);
	assert_int_equal(sum.back, 2);
	assert_false(loss_is_doubtful(&sum));
	assert_true(sum.sizes[0].size == 56 && sum.sizes[0].blocks == 30 && !sum.sizes[1].blocks);
	loss_fini(&earlier);
	loss_fini(&later);
}

static void most_bytes_come_first(void **state)
{
	struct loss earlier = { 0 }, later = { 0 };
	struct loss_sum sum;

	(void)state;
	put(&later, 3, 8);
	put(&later, 2, 1000);
	put(&later, 100, 40);
	put(&later, 1, 24);
	put(&later, 7, 56);
	loss_between(&earlier, &later, &sum);
	assert_int_equal(sum.blocks, 113);
	assert_true(sum.sizes[0].size == 40 && sum.sizes[0].blocks == 100);
	assert_true(sum.sizes[1].size == 1000 && sum.sizes[2].size == 56 && sum.sizes[3].size == 24);
	loss_fini(&later);
}

static void nothing_is_nothing(void **state)
{
	struct loss earlier = { 0 }, later = { 0 };
	struct loss_sum sum;

	(void)state;
	loss_between(&earlier, &later, &sum);
	assert_int_equal(sum.blocks + sum.bytes + sum.before_blocks + sum.sizes[0].blocks, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_is_new_counts),
		cmocka_unit_test(what_comes_back_is_not_lost_for_good),
		cmocka_unit_test(sizes_of_which_blocks_come_back),
		cmocka_unit_test(most_bytes_come_first),
		cmocka_unit_test(nothing_is_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

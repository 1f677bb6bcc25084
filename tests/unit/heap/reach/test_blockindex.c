/* SPDX-License-Identifier: MIT */
/* blockindex: every address near the ends of blocks, looked up in the index and in the list itself. */
#include "heap/reach/blockindex.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static uint32_t by_list(const struct block *b, size_t n, taddr v)
{
	for (size_t i = n; i-- > 0;)
		if (b[i].addr <= v)
			return block_holds(&b[i], v) ? (uint32_t)i : BLOCK_NONE;
	return BLOCK_NONE;
}

static void ask(const struct block_index *ix, const struct block *b, size_t n, taddr v)
{
	const uint32_t found = block_index_find(ix, v), right = by_list(b, n, v);
	struct block_probe p;
	bool start;

	if (found != right)
		fail_msg("%" PRIx64 ": %u, not %u", v, found, right);
	if (block_index_probe(ix, v, &p) && block_index_resolve(ix, v, &p, &start) != BLOCK_NONE && start)
		assert_true(right != BLOCK_NONE && b[right].addr == v);
}

static void ask_around(const struct block *b, size_t n)
{
	struct block_index ix;

	assert_int_equal(block_index_init(&ix, b, n), 0);
	for (size_t i = 0; i < n; i++)
		for (int d = -17; d <= 17; d++) {
			ask(&ix, b, n, b[i].addr + (taddr)d);
			ask(&ix, b, n, b[i].addr + b[i].size + (taddr)d);
			ask(&ix, b, n, b[i].addr + b[i].size / 2 + (taddr)d);
		}
	ask(&ix, b, n, 0);
	ask(&ix, b, n, UINT64_MAX);
	block_index_fini(&ix);
}

static uint64_t seed = 1;

static uint64_t any(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed >> 11) % below;
}

/* @align: of the blocks' addresses; now and then a block of more than a leaf, or a gap of several. */
static void ask_random(taddr at, uint64_t align)
{
	struct block b[300];
	size_t n = 1 + any(300);

	for (size_t i = 0; i < n; i++) {
		at += any(20) ? any(64) : any(8) << 20;
		at = (at + align - 1) / align * align + align;
		b[i] = (struct block){ at, any(50) ? any(200) : any(5u << 20) };
		at += b[i].size;
	}
	ask_around(b, n);
}

static void test_random(void **state)
{
	(void)state;
	for (int i = 0; i < 300; i++) {
		ask_random(0x7f0000000000u + any(1u << 30), 16);
		ask_random(0x550000000000u + any(1u << 30), 8);
		ask_random(any(1u << 20), 1);
	}
}

static void test_largest(void **state)
{
	const struct block huge[] = {
		{ 0x10000, 100 },
		/* over many mid tables, and its end within one */
		{ UINT64_C(0x100000000) - 16, UINT64_C(50) << 33 },
		{ (UINT64_C(60) << 33) + 32, 24 },
		{ (UINT64_C(61) << 33), UINT64_C(20) << 40 },
		{ UINT64_C(0x7fffffffffe0), 64 },	/* across 2^47 */
		{ UINT64_C(0x800000000040), 32 },	/* behind it */
		{ UINT64_C(0xffffffffffff0000), 0xfff0 },
	};
	struct block_index ix;

	(void)state;
	ask_around(huge, 7);
	assert_int_equal(block_index_init(&ix, huge, 7), 0);
	assert_int_equal(block_index_find(&ix, UINT64_C(0x100000000) + (UINT64_C(40) << 33)), 1);
	assert_true(ix.memory < 4u << 20);
	block_index_fini(&ix);
}

/* One block for each granule: the rank of a leaf's last word is as large as possible. */
static void test_dense(void **state)
{
	const size_t n = 70000;
	struct block *b = calloc(n, sizeof(*b));
	struct block_index ix;

	(void)state;
	assert_non_null(b);
	for (size_t i = 0; i < n; i++)
		b[i] = (struct block){ 0x7f0000000000u + i * 16, 16 };
	assert_int_equal(block_index_init(&ix, b, n), 0);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(block_index_find(&ix, b[i].addr), i);
		assert_int_equal(block_index_find(&ix, b[i].addr + 15), i);
	}
	block_index_fini(&ix);
	free(b);
}

static void test_refused(void **state)
{
	const struct block down[] = { { 64, 16 }, { 32, 16 } }, wraps[] = { { UINT64_MAX - 3, 16 } };
	struct block_index ix;

	(void)state;
	assert_int_equal(block_index_init(&ix, down, 2), -EINVAL);
	assert_int_equal(block_index_init(&ix, wraps, 1), -EINVAL);
	assert_int_equal(block_index_init(&ix, NULL, 0), 0);
	assert_int_equal(block_index_find(&ix, 0), BLOCK_NONE);
	block_index_fini(&ix);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_largest),
		cmocka_unit_test(test_dense),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

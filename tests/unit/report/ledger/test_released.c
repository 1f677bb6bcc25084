/* SPDX-License-Identifier: MIT */
/*
 * released: which stack freed an address and which had allocated it; within the limit nothing is forgotten,
 * beyond it the old entries are.
 */
#include "report/ledger/released.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define LIMIT (1u << 20)
#define A 0x5000ull

static struct released *released;

static int setup(void **state)
{
	(void)state;
	return released_new(LIMIT, &released);
}

static int teardown(void **state)
{
	(void)state;
	released_free(released);
	return 0;
}

static void put(taddr addr, uint32_t stack, uint32_t alloc)
{
	released_put(released, addr, &(struct released_by){ stack, alloc });
}

static void put_get_remove(void **state)
{
	struct released_by by;

	(void)state;
	assert_false(released_get(released, A, NULL));
	released_remove(released, A);
	put(A, 1, 2);
	put(0, 3, 4);
	put(UINT64_MAX, UINT32_MAX, 0);
	assert_true(released_get(released, A, &by));
	assert_int_equal(by.stack, 1);
	assert_int_equal(by.alloc, 2);
	put(A, 5, 6);
	assert_true(released_get(released, A, &by));
	assert_int_equal(by.stack, 5);
	released_remove(released, A);
	assert_false(released_get(released, A, NULL));
	assert_true(released_get(released, 0, &by));
	assert_int_equal(by.stack, 3);
	assert_true(released_get(released, UINT64_MAX, &by));
	assert_int_equal(by.stack, UINT32_MAX);
	released_clear(released);
	assert_false(released_get(released, 0, NULL));
	assert_int_equal(released_forgotten(released), 0);
}

static void begins_small_and_keeps_all_below_the_limit(void **state)
{
	(void)state;
	assert_true(released_memory(released) < 1024);
	for (uint64_t i = 0; i < LIMIT / 64; i++)
		put(A + 16 * i, (uint32_t)i, 7);
	for (uint64_t i = 0; i < LIMIT / 64; i++) {
		struct released_by by;

		assert_true(released_get(released, A + 16 * i, &by));
		assert_int_equal(by.stack, i);
	}
	assert_int_equal(released_forgotten(released), 0);
}

/* Mainly old entries are forgotten: of the last tenth of the capacity hardly any is missing. */
static void beyond_the_limit_old_ones_go(void **state)
{
	uint64_t n = 1000000, kept = 0, late = 0, size;

	(void)state;
	for (uint64_t i = 0; i < n; i++) {
		put(A + 16 * i, (uint32_t)i, 7);
		if (i % 1000 == 0)
			assert_true(released_memory(released) <= LIMIT);
	}
	for (uint64_t i = 0; i < n; i++)
		kept += released_get(released, A + 16 * i, NULL);
	assert_int_equal(kept + released_forgotten(released), n);
	assert_true(kept > LIMIT / 80);
	size = kept / 10;
	for (uint64_t i = n - size; i < n; i++)
		late += released_get(released, A + 16 * i, NULL);
	assert_true(late * 100 >= size * 98);
}

/* Entries that are added and removed again need no room. */
static void the_same_again_and_again(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 1000000; i++) {
		put(A + 16 * (i % 1000), 1, 1);
		if (i % 3 == 0)
			released_remove(released, A + 16 * (i % 997));
	}
	assert_int_equal(released_forgotten(released), 0);
	assert_true(released_memory(released) < 64 << 10);
}

static void a_limit_of_nothing(void **state)
{
	struct released *small;

	(void)state;
	assert_int_equal(released_new(0, &small), 0);
	for (uint64_t i = 0; i < 10000; i++) {
		released_put(small, 16 * i, &(struct released_by){ 1, 1 });
		assert_true(released_get(small, 16 * i, NULL));
	}
	assert_true(released_memory(small) < 1024);
	assert_true(released_forgotten(small) >= 9900);
	released_free(small);
}

int main(void)
{
#define released_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		released_test(put_get_remove),
		released_test(begins_small_and_keeps_all_below_the_limit),
		released_test(beyond_the_limit_old_ones_go),
		released_test(the_same_again_and_again),
		released_test(a_limit_of_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

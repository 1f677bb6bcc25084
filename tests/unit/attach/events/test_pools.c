/* SPDX-License-Identifier: MIT */
/* pools: trees of a few nodes, and one that is kept in another way beside it. */
#include "attach/events/pools.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct pools pools;

/* What was removed, in order. */
static struct {
	uint64_t all[1000];
	size_t n;
} gone;

static int setup(void **state)
{
	(void)state;
	pools_init(&pools);
	gone.n = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pools_fini(&pools);
	return 0;
}

static void put(uint64_t key, uint64_t pool)
{
	assert_int_equal(pools_put(&pools, key, pool ? &pool : NULL, false), 0);
}

/* Remove all that is condemned; how many these are. */
static size_t carry_out(uint32_t expected_by)
{
	uint32_t by;

	for (gone.n = 0; pools_next(&pools, &gone.all[gone.n], &by); gone.n++) {
		assert_int_equal(by, expected_by);
		assert_false(pools_has(&pools, gone.all[gone.n]));
	}
	assert_false(pools_any_condemned(&pools));
	return gone.n;
}

/* How many lie in it, and do not any more. */
static size_t emptied(uint64_t key)
{
	bool known = pools_has(&pools, key);

	assert_int_equal(pools_condemn(&pools, key, true, 5), 0);
	assert_int_equal(pools_has(&pools, key), known);
	assert_true(pools_is_empty(&pools, key));
	return carry_out(5);
}

static void innermost_first(void **state)
{
	(void)state;
	put(1, 0);
	put(2, 1);
	put(3, 2);
	assert_int_equal(emptied(1), 2);
	assert_int_equal(gone.all[0], 3);
	assert_int_equal(gone.all[1], 2);
	assert_true(pools_has(&pools, 1));
	assert_int_equal(emptied(1), 0);
	assert_int_equal(emptied(77), 0);
}

static void a_pool_may_be_unknown(void **state)
{
	(void)state;
	put(2, 1);
	assert_true(pools_has(&pools, 1));
	put(1, 9);
	assert_int_equal(emptied(9), 2);
	assert_int_equal(pools_count(&pools), 1);
}

static void pools_stay_in_a_shallow_one(void **state)
{
	const uint64_t one = 1;

	(void)state;
	put(2, 1);
	put(3, 1);
	put(4, 3);
	assert_int_equal(pools_put(&pools, 5, &one, true), 0);
	assert_int_equal(pools_condemn_blocks(&pools, 1, 7), 0);
	assert_int_equal(carry_out(7), 1);
	assert_int_equal(gone.all[0], 2);
	assert_int_equal(emptied(1), 3);
	assert_int_equal(pools_condemn_blocks(&pools, 77, 7), 0);
	assert_int_equal(carry_out(7), 0);
}

static void moved_with_what_is_in_it(void **state)
{
	(void)state;
	put(2, 1);
	put(3, 2);
	put(2, 10);
	assert_int_equal(emptied(1), 0);
	put(2, 0);
	assert_int_equal(emptied(10), 0);
	assert_int_equal(emptied(2), 1);
}

static void none_lies_in_itself(void **state)
{
	(void)state;
	put(1, 1);
	assert_int_equal(emptied(1), 0);
	put(2, 1);
	put(3, 2);
	put(1, 3);
	assert_int_equal(emptied(3), 0);
	assert_int_equal(emptied(1), 2);
}

static void renamed(void **state)
{
	(void)state;
	put(2, 1);
	put(3, 2);
	assert_int_equal(pools_rename(&pools, 2, 20), 0);
	assert_false(pools_has(&pools, 2));
	assert_int_equal(emptied(20), 1);
	assert_int_equal(gone.all[0], 3);
	assert_int_equal(emptied(1), 1);
	assert_int_equal(pools_rename(&pools, 5, 6), 0);
	assert_false(pools_has(&pools, 6));
}

static void condemned_until_removed(void **state)
{
	uint32_t by = 0;
	uint64_t key;

	(void)state;
	put(2, 1);
	put(3, 2);
	put(4, 3);
	put(5, 2);
	put(9, 8);
	assert_int_equal(pools_condemn(&pools, 2, false, 6), 0);
	assert_false(pools_has(&pools, 2));
	assert_true(pools_is_empty(&pools, 1));
	assert_true(pools_is_condemned(&pools, 4, &by));
	assert_int_equal(by, 6);
	assert_false(pools_is_condemned(&pools, 1, NULL) || pools_is_condemned(&pools, 9, NULL));
	/* a new pool of that name is another one; 3 is condemned for another reason; 5 is saved */
	put(2, 1);
	put(6, 2);
	assert_int_equal(pools_condemn(&pools, 3, true, 7), 0);
	put(5, 2);
	assert_false(pools_is_condemned(&pools, 5, NULL) || pools_is_condemned(&pools, 6, NULL));
	assert_true(pools_next(&pools, &key, &by) && pools_next(&pools, &key, &by));
	assert_false(pools_next(&pools, &key, &by));
	assert_false(pools_has(&pools, 3) || pools_has(&pools, 4));
	assert_int_equal(emptied(1), 3);
}

static void removed_without_its_members(void **state)
{
	(void)state;
	put(2, 1);
	put(3, 1);
	pools_remove(&pools, 1);
	pools_remove(&pools, 1);
	assert_int_equal(pools_count(&pools), 2);
	assert_false(pools_has(&pools, 1));
	put(1, 0);
	assert_int_equal(emptied(1), 0);
}

/* Neither a deep pool nor a broad one takes longer than there are nodes in it. */
static void deep_and_broad(void **state)
{
	enum { N = 300000 };
	size_t n = 0;
	uint64_t key;
	uint32_t by;

	(void)state;
	for (uint64_t i = 1; i < N; i++)
		put(i + 1, i % 2 ? i : i - 1);
	assert_int_equal(pools_condemn(&pools, 1, true, 0), 0);
	while (pools_next(&pools, &key, &by))
		n++;
	assert_int_equal(n, N - 1);
	assert_int_equal(pools_count(&pools), 1);
}

/* --- compared with an array of parents --- */

enum { KEYS = 60 };
static uint64_t around[KEYS + 1];
static bool known[KEYS + 1];

static bool is_in(uint64_t key, uint64_t pool)
{
	while (key && key != pool)
		key = around[key];
	return key != 0;
}

static void model_put(uint64_t key, uint64_t pool)
{
	known[key] = true;
	around[key] = 0;
	if (!pool)
		return;
	known[pool] = true;
	around[key] = is_in(pool, key) ? 0 : pool;
}

static size_t model_empty(uint64_t pool)
{
	bool in[KEYS + 1] = { false };
	size_t n = 0;

	for (uint64_t i = 1; i <= KEYS; i++)
		in[i] = known[i] && i != pool && known[pool] && is_in(i, pool);
	for (uint64_t i = 1; i <= KEYS; i++) {
		if (!in[i])
			continue;
		known[i] = false;
		around[i] = 0;
		n++;
	}
	return n;
}

static void as_the_model(void **state)
{
	(void)state;
	srand(7);
	for (size_t i = 0; i <= KEYS; i++)
		around[i] = 0, known[i] = false;
	for (int turn = 0; turn < 100000; turn++) {
		uint64_t key = (uint64_t)rand() % KEYS + 1, pool = (uint64_t)rand() % (KEYS + 1);

		if (rand() % 8 == 0) {
			assert_int_equal(emptied(key), model_empty(key));
		} else {
			put(key, pool);
			model_put(key, pool);
		}
	}
	for (uint64_t i = 1; i <= KEYS; i++)
		assert_int_equal(pools_has(&pools, i), known[i]);
}

#define pools_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		pools_test(innermost_first),
		pools_test(a_pool_may_be_unknown),
		pools_test(pools_stay_in_a_shallow_one),
		pools_test(moved_with_what_is_in_it),
		pools_test(none_lies_in_itself),
		pools_test(renamed),
		pools_test(condemned_until_removed),
		pools_test(removed_without_its_members),
		pools_test(deep_and_broad),
		pools_test(as_the_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * live: a block is there from put until take, whatever its address; and the memory per block for any number
 * of them.
 */
#include "report/ledger/live.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "base/addrmap.h"

#define A 0x5000ull
#define BIRTH_MAX ((1ull << 45) - 1)

static struct live *live;

static int setup(void **state)
{
	(void)state;
	return live_new(&live);
}

static int teardown(void **state)
{
	(void)state;
	live_free(live);
	return 0;
}

static void assert_block(taddr addr, uint64_t size, uint64_t birth_us, uint32_t stack)
{
	struct live_block b;

	assert_true(live_get(live, addr, &b));
	assert_int_equal(b.size, size);
	assert_int_equal(b.birth_us, birth_us);
	assert_int_equal(b.stack, stack);
}

static int put(taddr addr, uint64_t size, uint64_t birth_us, uint32_t stack, struct live_block *old)
{
	const struct live_block b = { .size = size, .birth_us = birth_us, .stack = stack };

	return live_put(live, addr, &b, old);
}

static void put_get_take(void **state)
{
	struct live_block b;

	(void)state;
	assert_false(live_get(live, A, NULL));
	assert_false(live_take(live, A, NULL));
	assert_int_equal(put(A, 100, 777, 5, NULL), 0);
	assert_block(A, 100, 777, 5);
	assert_int_equal(live_count(live), 1);
	assert_int_equal(put(A, 101, 778, 6, &b), 1);
	assert_int_equal(b.size, 100);
	assert_int_equal(b.birth_us, 777);
	assert_int_equal(b.stack, 5);
	assert_int_equal(live_count(live), 1);
	assert_true(live_take(live, A, &b));
	assert_int_equal(b.size, 101);
	assert_false(live_get(live, A, NULL));
	assert_int_equal(live_count(live), 0);
}

/* Values that do not fit into a slot, and values that just do. */
static void extremes(void **state)
{
	static const struct { taddr addr; uint64_t size, birth; } all[] = {
		{ 0, 0, 0 }, { 0, 1, 1 }, { UINT64_MAX, UINT64_MAX, UINT64_MAX }, { 1ull << 48, 1, 1 },
		{ (1ull << 48) - 1, UINT32_MAX, BIRTH_MAX }, { 1, 1ull << 32, 1 }, { 2, UINT32_MAX, 1 },
		{ 3, 3, BIRTH_MAX + 1 }, { UINT32_MAX, 4, 4 }, { 1ull << 32, 5, 5 },
	};
	struct live_block b;

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		assert_int_equal(put(all[i].addr, all[i].size, all[i].birth, UINT32_MAX, NULL), i == 1);
		assert_block(all[i].addr, all[i].size, all[i].birth, UINT32_MAX);
	}
	assert_int_equal(live_count(live), 9);
	for (size_t i = 1; i < sizeof(all) / sizeof(all[0]); i++) {
		assert_true(live_take(live, all[i].addr, &b));
		assert_int_equal(b.size, all[i].size);
		assert_int_equal(b.birth_us, all[i].birth);
	}
	assert_int_equal(live_count(live), 0);
}

/* A block is in one table only, also if the old block at its address was in the other. */
static void large_over_small_and_back(void **state)
{
	struct live_block old;

	(void)state;
	assert_int_equal(put(A, 1, 1, 1, NULL), 0);
	assert_int_equal(put(A, 1ull << 40, 2, 2, &old), 1);
	assert_int_equal(old.size, 1);
	assert_int_equal(live_count(live), 1);
	assert_block(A, 1ull << 40, 2, 2);
	assert_int_equal(put(A, 1ull << 41, 3, 3, &old), 1);
	assert_int_equal(old.size, 1ull << 40);
	assert_int_equal(put(A, 4, 4, 4, &old), 1);
	assert_int_equal(old.size, 1ull << 41);
	assert_int_equal(live_count(live), 1);
	assert_block(A, 4, 4, 4);
	assert_true(live_take(live, A, NULL));
	assert_false(live_take(live, A, NULL));
}

static void each_once(void **state)
{
	struct addrmap seen;
	struct live_block b;
	size_t n = 0;
	taddr addr;

	(void)state;
	addrmap_init(&seen, 0);
	for (uint64_t i = 0; i < 5000; i++)
		assert_int_equal(put(i << (i % 50), i % 7 ? i : i << 33, i, (uint32_t)i, NULL) < 0, 0);
	for (size_t at = 0; live_next(live, &at, &addr, &b); n++) {
		assert_null(addrmap_get(&seen, addr));
		assert_int_equal(addrmap_put(&seen, addr, NULL), 0);
		assert_int_equal(b.birth_us << (b.birth_us % 50), addr);
		assert_int_equal(b.size, b.birth_us % 7 ? b.birth_us : b.birth_us << 33);
	}
	assert_int_equal(n, live_count(live));
	assert_true(n > 4000);
	addrmap_fini(&seen);
}

/* --- memory --- */

static taddr address(uint64_t i)
{
	return 0x7f0000000000 + 48 * i;
}

/* Assert that the memory per block is at most @at_most, on the way from @from to @to blocks, up or down. */
static void assert_memory(size_t from, size_t to, double at_most)
{
	int step = from < to ? 1 : -1;

	for (size_t n = from; n != to; n += step) {
		if (step > 0)
			assert_int_equal(put(address(n), 16, n, 1, NULL), 0);
		else
			assert_true(live_take(live, address(n - 1), NULL));
		if (live_count(live) < 4000 || live_memory(live) <= at_most * live_count(live))
			continue;
		fail_msg("%zu blocks take %.1f bytes each", live_count(live),
			 (double)live_memory(live) / live_count(live));
	}
}

static void thirty_two_bytes_a_block(void **state)
{
	(void)state;
	assert_memory(0, 100000, 32);
	assert_memory(100000, 1000000, 31);
	assert_memory(1000000, 300000, 32);
	assert_memory(300000, 1500000, 32);	/* up again from what a peak left */
	assert_memory(1500000, 10, 32);
	assert_true(live_memory(live) < 65536);
}

/*
 * While one table grows it exists twice: it is so small a part of all that the total stays below 32 bytes a
 * block.
 */
static void also_while_it_grows(void **state)
{
	size_t before = live_memory(live), largest = 0;

	(void)state;
	for (uint64_t i = 0; i < 1000000; i++) {
		size_t grown;

		assert_int_equal(put(address(i), 16, i, 1, NULL), 0);
		grown = live_memory(live) - before;
		before = live_memory(live);
		/*
		 * the table that has grown by @grown was at most nine times that, since small sizes are
		 * rounded
		 */
		if (i > 100000 && grown > largest)
			largest = grown;
	}
	assert_true(largest > 0);
	assert_true(live_memory(live) + 9 * largest <= 32 * live_count(live));
}

/* --- no memory --- */

static void as_before_without_memory(void **state)
{
	struct rlimit old, none;
	uint64_t n = 0;
	int err;

	(void)state;
	/* large enough for tables that are mappings, to which the limit applies at once */
	for (; n < 400000; n++)
		assert_int_equal(put(address(n), n, n, 1, NULL), 0);
	assert_int_equal(getrlimit(RLIMIT_AS, &old), 0);
	none = (struct rlimit){ 0, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
	while ((err = put(address(n), n, n, 1, NULL)) == 0)
		n++;
	assert_int_equal(setrlimit(RLIMIT_AS, &old), 0);
	assert_int_equal(err, -ENOMEM);
	assert_int_equal(live_count(live), n);
	assert_false(live_get(live, address(n), NULL));
	for (uint64_t i = 0; i < n; i++)
		assert_block(address(i), i, i, 1);
	assert_int_equal(put(address(n), n, n, 1, NULL), 0);
}

/* --- compared with a model --- */

static uint64_t rng = 88172645463325252u;

static uint64_t rnd(uint64_t below)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng % below;
}

/* Many and few blocks in turn, so that tables grow and shrink with deletions in between. */
static void agrees_with_a_model(void **state)
{
	static struct live_block model[20000];
	static bool held[20000];
	size_t count = 0;

	(void)state;
	for (int step = 0; step < 1500000; step++) {
		size_t k = rnd(20000);
		taddr addr = k % 100 ? 16 * k : k << 50 | k;
		bool grow = rnd(10) < (step / 150000 % 2 ? 3 : 7);
		struct live_block b = { k % 101 ? rnd(1000) : rnd(UINT64_MAX), rnd(BIRTH_MAX),
					(uint32_t)rnd(UINT32_MAX), VERDICT_UNKNOWN };
		struct live_block old;

		if (grow) {
			assert_int_equal(live_put(live, addr, &b, &old), held[k]);
			count += !held[k];
		} else {
			assert_int_equal(live_take(live, addr, &old), held[k]);
			count -= held[k];
		}
		if (held[k])
			assert_memory_equal(&old, &model[k],
					    offsetof(struct live_block, verdict) + sizeof(old.verdict));
		held[k] = grow;
		model[k] = b;
		if (rnd(3) == 0) {
			enum verdict verdict = rnd(VERDICT_COUNT);

			assert_int_equal(live_set_verdict(live, addr, verdict), held[k]);
			model[k].verdict = held[k] ? verdict : VERDICT_UNKNOWN;
		}
		assert_int_equal(live_count(live), count);
	}
	for (size_t k = 0; k < 20000; k++)
		assert_int_equal(live_get(live, k % 100 ? 16 * k : k << 50 | k, NULL), held[k]);
}

/* A verdict for any block, in whichever table it is; a new block at the address has none. */
static void verdicts(void **state)
{
	struct live_block b;

	(void)state;
	assert_false(live_set_verdict(live, A, VERDICT_DEFINITE));
	assert_int_equal(put(A, 1, BIRTH_MAX, 1, NULL), 0);
	assert_int_equal(put(A + 16, 1ull << 40, 2, 2, NULL), 0);
	assert_int_equal(put(A + 32, 3, BIRTH_MAX + 1, 3, NULL), 0);
	assert_true(live_set_verdict(live, A, VERDICT_REACHABLE));
	assert_true(live_set_verdict(live, A + 16, VERDICT_POSSIBLE));
	assert_true(live_set_verdict(live, A + 32, VERDICT_DEFINITE));
	assert_block(A, 1, BIRTH_MAX, 1);
	assert_block(A + 32, 3, BIRTH_MAX + 1, 3);
	assert_true(live_get(live, A, &b));
	assert_int_equal(b.verdict, VERDICT_REACHABLE);
	assert_int_equal(put(A, 5, 5, 5, &b), 1);
	assert_int_equal(b.verdict, VERDICT_REACHABLE);
	assert_true(live_get(live, A, &b));
	assert_int_equal(b.verdict, VERDICT_UNKNOWN);
	assert_true(live_get(live, A + 16, &b));
	assert_int_equal(b.verdict, VERDICT_POSSIBLE);
	assert_true(live_set_verdict(live, A, VERDICT_INDIRECT));
	live_forget_verdicts(live);
	for (taddr a = A; a <= A + 32; a += 16) {
		assert_true(live_get(live, a, &b));
		assert_int_equal(b.verdict, VERDICT_UNKNOWN);
	}
}

int main(void)
{
#define live_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		live_test(put_get_take),
		live_test(extremes),
		live_test(large_over_small_and_back),
		live_test(each_once),
		live_test(thirty_two_bytes_a_block),
		live_test(also_while_it_grows),
		live_test(as_before_without_memory),
		live_test(agrees_with_a_model),
		live_test(verdicts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

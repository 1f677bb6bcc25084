/* SPDX-License-Identifier: MIT */
/*
 * ranges: cut out at the front, at the end, from the middle, across several; and compared with a plain map of
 * the addresses.
 */
#include "attach/events/ranges.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ADDRESSES 6000	/* more than a few leaves cover */

static struct ranges ranges;

static int setup(void **state)
{
	(void)state;
	ranges_init(&ranges);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	ranges_fini(&ranges);
	return 0;
}

static int add(taddr lo, taddr hi, uint32_t stack)
{
	return ranges_add(&ranges, &(struct range){
		.lo = lo, .hi = hi, .live = true, .stack = stack, .birth_us = stack,
	});
}

static void assert_all(size_t n, const taddr (*expected)[3])
{
	struct range r;
	size_t i = 0;

	for (taddr at = 0; ranges_first(&ranges, at, UINT64_MAX, &r); at = r.hi, i++) {
		assert_true(i < n);
		assert_int_equal(r.lo, expected[i][0]);
		assert_int_equal(r.hi, expected[i][1]);
		assert_int_equal(r.stack, expected[i][2]);
		assert_int_equal(r.birth_us, expected[i][2]);
		assert_true(r.live);
	}
	assert_int_equal(i, n);
}

#define ASSERT_ALL(...) \
	assert_all(sizeof((taddr[][3]){ __VA_ARGS__ }) / sizeof(taddr[3]), (const taddr[][3]){ __VA_ARGS__ })

/* Returns how many addresses were covered. */
static unsigned clear(taddr lo, taddr hi)
{
	struct range was;
	unsigned n = 0;

	while (ranges_remove(&ranges, lo, hi, &was) == 1)
		n++;
	return n;
}

static void whole_front_end_middle(void **state)
{
	struct range was;

	(void)state;
	assert_int_equal(add(100, 200, 1), 0);
	assert_int_equal(ranges_remove(&ranges, 0, 100, &was), 0);
	assert_int_equal(ranges_remove(&ranges, 200, 300, &was), 0);
	assert_int_equal(ranges_remove(&ranges, 50, 120, &was), 1);
	assert_int_equal(was.lo, 100);
	assert_int_equal(was.hi, 200);
	ASSERT_ALL({ 120, 200, 1 });
	assert_int_equal(clear(190, 250), 1);
	ASSERT_ALL({ 120, 190, 1 });
	assert_int_equal(clear(140, 150), 1);
	ASSERT_ALL({ 120, 140, 1 }, { 150, 190, 1 });
	assert_int_equal(clear(120, 140), 1);
	ASSERT_ALL({ 150, 190, 1 });
	assert_int_equal(clear(0, UINT64_MAX), 1);
	assert_all(0, NULL);
}

static void several_at_once(void **state)
{
	(void)state;
	assert_int_equal(add(300, 400, 3), 0);
	assert_int_equal(add(100, 200, 1), 0);
	assert_int_equal(add(200, 300, 2), 0);
	ASSERT_ALL({ 100, 200, 1 }, { 200, 300, 2 }, { 300, 400, 3 });
	assert_int_equal(clear(150, 350), 3);
	ASSERT_ALL({ 100, 150, 1 }, { 350, 400, 3 });
}

static void nothing_overlaps(void **state)
{
	(void)state;
	assert_int_equal(add(100, 200, 1), 0);
	assert_int_equal(add(199, 300, 2), -EEXIST);
	assert_int_equal(add(50, 101, 2), -EEXIST);
	assert_int_equal(add(120, 130, 2), -EEXIST);
	assert_int_equal(add(50, 300, 2), -EEXIST);
	assert_int_equal(add(200, 201, 2), 0);
	ASSERT_ALL({ 100, 200, 1 }, { 200, 201, 2 });
}

/* Also in the middle of a range: a call of 0 bytes cuts nothing. */
static void nothing_is_taken_from_nothing(void **state)
{
	struct range was;

	(void)state;
	assert_int_equal(add(100, 200, 1), 0);
	assert_int_equal(ranges_remove(&ranges, 150, 150, &was), 0);
	assert_int_equal(ranges_remove(&ranges, 180, 120, &was), 0);
	assert_false(ranges_first(&ranges, 150, 150, &was));
	ASSERT_ALL({ 100, 200, 1 });
}

static void first(void **state)
{
	struct range was;

	(void)state;
	assert_int_equal(add(100, 200, 1), 0);
	assert_int_equal(add(300, 400, 2), 0);
	assert_false(ranges_first(&ranges, 200, 300, &was));
	assert_true(ranges_first(&ranges, 199, 301, &was));
	assert_int_equal(was.stack, 1);
	assert_true(ranges_first(&ranges, 200, 301, &was));
	assert_int_equal(was.stack, 2);
	assert_false(ranges_first(&ranges, 400, UINT64_MAX, &was));
}

/* --- compared with a plain array: the owner of each address --- */

static uint32_t owner[ADDRESSES];

static void assert_as_owned(void)
{
	uint32_t found[ADDRESSES] = { 0 };

	struct range r = { 0 };

	for (taddr at = 0; ranges_first(&ranges, at, UINT64_MAX, &r); at = r.hi) {
		assert_true(at <= r.lo && r.lo < r.hi && r.hi <= ADDRESSES);
		for (taddr a = r.lo; a < r.hi; a++)
			found[a] = r.stack;
	}
	assert_memory_equal(found, owner, sizeof(owner));
}

static void own(taddr lo, taddr hi, uint32_t whose)
{
	for (taddr a = lo; a < hi; a++)
		owner[a] = whose;
}

static void any_order(void **state)
{
	size_t most = 0;
	uint64_t rng = 0x2545f4914f6cdd1d;

	(void)state;
	memset(owner, 0, sizeof(owner));
	for (uint32_t i = 1; i < 40000; i++) {
		rng ^= rng << 13;
		rng ^= rng >> 7;
		rng ^= rng << 17;
		/* mostly short ranges, so that there are many; now and then one that empties whole leaves */
		taddr lo = rng % ADDRESSES, hi = lo + 1 + (rng >> 32) % (i % 1000 ? 4 : ADDRESSES / 2);

		if (hi > ADDRESSES)
			hi = ADDRESSES;
		clear(lo, hi);
		if (rng >> 60 & 3)
			assert_int_equal(add(lo, hi, i), 0);
		own(lo, hi, rng >> 60 & 3 ? i : 0);
		if (i % 10 == 0)
			assert_as_owned();
		most = ranges.n > most ? ranges.n : most;
	}
	assert_true(most > 5);
	clear(0, UINT64_MAX);
	assert_all(0, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(whole_front_end_middle, setup, teardown),
		cmocka_unit_test_setup_teardown(several_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing_overlaps, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing_is_taken_from_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(first, setup, teardown),
		cmocka_unit_test_setup_teardown(any_order, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

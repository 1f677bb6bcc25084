/* SPDX-License-Identifier: MIT */
/* slice_size: what is learned of the depth of a thread's stack, and the hint that the keeper gets. */
#include "attach/stacks/slice_size.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define MOST 32768

static struct slice_size *slices;
static struct shared *shared;

static int setup(void **state)
{
	(void)state;
	shared->slice_bytes = MOST;
	for (uint32_t i = 0; i < SHARED_THREADS; i++) {
		atomic_store(&shared->slice_hints[i].bytes, 0);
		atomic_store(&shared->slice_hints[i].end, 0);
	}
	slice_size_init(slices, shared);
	return 0;
}

#define STACK 0x7ffe0000000ull
#define ELSEWHERE 0x5550000000ull

/* A hit at @rsp; its stack needs @used bytes, @slice were copied. */
static void learn_at(taddr rsp, uint32_t tid, uint32_t slice, uint32_t used, enum unwind_end end)
{
	const struct record_hit hit = { .head = { .tid = tid }, .thread = 3, .slice_len = slice, .regs.rsp = rsp };
	struct unwind_stack st = { .end = end, .used = used };

	slice_size_learn(slices, &hit, &st);
}

/* One of many stacks of the thread, each at another address: only the size is learned. */
static void learn(uint32_t tid, uint32_t slice, uint32_t used, bool cut)
{
	learn_at(ELSEWHERE, tid, slice, used, cut ? UNWIND_CUT : UNWIND_LOST);
}

static uint32_t wanted(taddr rsp)
{
	return shared_slice(shared, 3, 100, rsp);
}

static uint32_t size(void)
{
	return wanted(ELSEWHERE);
}

static void as_much_as_allowed_at_first(void **state)
{
	(void)state;
	for (int i = 0; i < SLICE_SIZE_FIRST - 1; i++)
		learn(100, MOST, 1000, false);
	assert_int_equal(size(), MOST);
	learn(100, MOST, 1000, false);
	assert_in_range(size(), 2000, 4096);
	assert_int_equal(shared_slice(shared, 2, 100, ELSEWHERE), MOST);
}

static void the_deepest_counts(void **state)
{
	(void)state;
	learn(100, MOST, 9000, false);
	for (int i = 0; i < 1000; i++)
		learn(100, MOST, 100, false);
	assert_in_range(size(), 18000, 20000);
}

static void what_was_cut_doubles(void **state)
{
	uint32_t before, after;

	(void)state;
	for (int i = 0; i < SLICE_SIZE_FIRST; i++)
		learn(100, MOST, 1000, false);
	before = size();
	learn(100, before, before, true);
	after = size();
	assert_in_range(after, 2 * before, 3 * before);
	/* a late record, copied before the hint was raised, changes nothing */
	learn(100, before / 2, before / 2, true);
	assert_int_equal(size(), after);
}

static void never_more_than_allowed(void **state)
{
	(void)state;
	for (int i = 0; i < SLICE_SIZE_FIRST; i++)
		learn(100, MOST, MOST, true);
	assert_int_equal(size(), MOST);
	shared->slice_bytes = 8;
	learn(100, 8, 8, true);
	assert_int_equal(size(), 8);
}

static void another_thread_begins_anew(void **state)
{
	(void)state;
	for (int i = 0; i < SLICE_SIZE_FIRST; i++)
		learn_at(STACK - 20000, 100, MOST, 20000, UNWIND_WHOLE);
	assert_in_range(wanted(STACK - 400), 400, 464);
	learn(200, MOST, 100, false);
	assert_int_equal(shared_slice(shared, 3, 100, STACK - 400), MOST);
	assert_int_equal(shared_slice(shared, 3, 200, STACK - 400), MOST);
	for (int i = 1; i < SLICE_SIZE_FIRST; i++)
		learn(200, MOST, 100, false);
	assert_in_range(shared_slice(shared, 3, 200, ELSEWHERE), 200, 1400);
}

static void up_to_the_end(void **state)
{
	(void)state;
	learn_at(STACK - 3000, 100, MOST, 3000, UNWIND_WHOLE);
	assert_in_range(wanted(STACK - 400), 400, 464);
	assert_in_range(wanted(STACK - 30000), 30000, 30064);	/* deeper than any before */
	assert_int_equal(wanted(STACK - MOST - 1), MOST);
	assert_int_equal(wanted(STACK + 5000), MOST);		/* another stack */
	assert_int_equal(size(), MOST);
	/* a stack of which nothing could be made ended there by accident */
	learn_at(STACK + 5000, 100, MOST, 3000, UNWIND_LOST);
	assert_in_range(wanted(STACK - 400), 400, 464);
}

static void an_end_that_was_too_near(void **state)
{
	(void)state;
	learn_at(STACK - 3000, 100, MOST, 1000, UNWIND_WHOLE);	/* of a signal, on a stack inside of the other one */
	assert_in_range(wanted(STACK - 2900), 900, 964);
	for (int i = 0; i < 8; i++)
		learn_at(STACK - 2900, 100, wanted(STACK - 2900), wanted(STACK - 2900), UNWIND_CUT);
	assert_true(wanted(STACK - 2900) >= 2900);
	/* that much is copied until a stack of another function is whole: an end is never nearer again */
	learn_at(STACK - 3000, 100, MOST, 1000, UNWIND_WHOLE);
	assert_true(wanted(STACK - 2900) >= 2900);
	/* also if nothing was copied */
	learn_at(STACK + 9 * MOST, 100, MOST, 64, UNWIND_WHOLE);
	learn_at(STACK + 9 * MOST + 128, 100, 0, 0, UNWIND_CUT);
	assert_in_range(wanted(STACK + 9 * MOST + 128), 512, 2048);
}

#define slices_test(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		slices_test(as_much_as_allowed_at_first), slices_test(the_deepest_counts),
		slices_test(what_was_cut_doubles),	  slices_test(never_more_than_allowed),
		slices_test(another_thread_begins_anew),  slices_test(up_to_the_end),
		slices_test(an_end_that_was_too_near),
	};

	shared = calloc(1, sizeof(*shared));
	slices = calloc(1, sizeof(*slices));
	return shared && slices ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}

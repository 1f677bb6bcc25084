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
	for (uint32_t i = 0; i < SHARED_THREADS; i++)
		atomic_store(&shared->slice_hint[i], 0);
	slice_size_init(slices, shared);
	return 0;
}

static void learn(uint32_t thread, uint32_t tid, uint32_t slice, uint32_t used, bool cut)
{
	const struct record_hit hit = { .head = { .tid = tid }, .thread = thread, .slice_len = slice };

	slice_size_learn(slices, &hit, used, cut);
}

static uint32_t hint(uint32_t thread)
{
	return (uint32_t)atomic_load(&shared->slice_hint[thread]);
}

static void nothing_is_said_at_first(void **state)
{
	(void)state;
	for (int i = 0; i < SLICE_SIZE_FIRST - 1; i++)
		learn(3, 100, MOST, 1000, false);
	assert_int_equal(hint(3), 0);
	learn(3, 100, MOST, 1000, false);
	assert_in_range(hint(3), 2000, 4096);
	assert_int_equal(hint(2), 0);
}

static void the_deepest_counts(void **state)
{
	(void)state;
	learn(3, 100, MOST, 9000, false);
	for (int i = 0; i < 1000; i++)
		learn(3, 100, MOST, 100, false);
	assert_in_range(hint(3), 18000, 20000);
}

static void what_was_cut_doubles(void **state)
{
	uint32_t before, after;

	(void)state;
	for (int i = 0; i < SLICE_SIZE_FIRST; i++)
		learn(3, 100, MOST, 1000, false);
	before = hint(3);
	learn(3, 100, before, before, true);
	after = hint(3);
	assert_in_range(after, 2 * before, 3 * before);
	/* a late record, copied before the hint was raised, changes nothing */
	learn(3, 100, before / 2, before / 2, true);
	assert_int_equal(hint(3), after);
}

static void never_more_than_allowed(void **state)
{
	(void)state;
	for (int i = 0; i < SLICE_SIZE_FIRST; i++)
		learn(3, 100, MOST, MOST, true);
	assert_int_equal(hint(3), MOST);
	shared->slice_bytes = 8;
	learn(3, 100, 8, 8, true);
	assert_int_equal(hint(3), 8);
}

static void another_thread_begins_anew(void **state)
{
	(void)state;
	for (int i = 0; i < SLICE_SIZE_FIRST; i++)
		learn(3, 100, MOST, 20000, false);
	for (int i = 0; i < SLICE_SIZE_FIRST - 1; i++)
		learn(3, 200, MOST, 100, false);
	assert_int_equal(atomic_load(&shared->slice_hint[3]) >> 32, 100); /* the new thread has no hint yet */
	learn(3, 200, MOST, 100, false);
	assert_int_equal(atomic_load(&shared->slice_hint[3]) >> 32, 200);
	assert_in_range(hint(3), 200, 1400);
}

#define slices_test(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		slices_test(nothing_is_said_at_first), slices_test(the_deepest_counts),
		slices_test(what_was_cut_doubles),     slices_test(never_more_than_allowed),
		slices_test(another_thread_begins_anew),
	};

	shared = calloc(1, sizeof(*shared));
	slices = calloc(1, sizeof(*slices));
	return shared && slices ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}

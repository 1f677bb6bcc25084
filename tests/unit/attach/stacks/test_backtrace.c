/* SPDX-License-Identifier: MIT */
/*
 * backtrace: which frames of a hit become its stack. They are given with the hit, as gdb does, so that nothing is
 * unwound. The target is this very process.
 */
#include "attach/stacks/backtrace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define WRAPPER 0x7000u
#define FIRST 0x1000u

static struct modules *modules;
static struct shared *shared;
static struct defs defs;
static struct backtrace *backtrace;
static uint32_t path[UNWIND_MAX + 1], depth;
static const struct site behind = { .flags = SITE_BEHIND };

static int setup(void **state)
{
	const struct backtrace_options options = { .which = UNWINDER_CFI, .depth = UNWIND_MAX };

	(void)state;
	shared = calloc(1, sizeof(*shared));
	defs_init(&defs);
	return !shared || modules_new(getpid(), &modules) < 0 ||
	       backtrace_new(getpid(), modules, shared, &defs, &options, &backtrace) < 0;
}

static int teardown(void **state)
{
	(void)state;
	backtrace_free(backtrace);
	modules_free(modules);
	defs_fini(&defs);
	free(shared);
	return 0;
}

/* A hit of so many frames, the first at FIRST, each caller's one further up. @end: MMT_END_WHOLE ... */
static void take(uint32_t frames, const struct backtrace_frames *which, uint32_t end)
{
	const uint32_t bytes = frames * (uint32_t)sizeof(taddr);
	struct record_hit *hit = calloc(1, sizeof(*hit) + bytes);
	uint32_t number;

	assert_non_null(hit);
	hit->head = (struct record){ .kind = RECORD_HIT, .flags = RECORD_FRAMES, .tid = (uint32_t)getpid() };
	hit->slice_len = bytes;
	for (uint32_t i = 0; i < frames; i++)
		memcpy(hit->slice + i * sizeof(taddr), &(taddr){ FIRST + i }, sizeof(taddr));
	assert_int_equal(backtrace_of(backtrace, hit, &behind, which, NULL, &number), 0);
	free(hit);
	depth = defs_path(&defs, defs_stack(&defs, number), path, UNWIND_MAX + 1);
	assert_int_equal(defs.stacks[defs_stack(&defs, number)].end, end);
}

static void assert_frame(uint32_t i, taddr pc)
{
	assert_true(i < depth);
	assert_int_equal(defs.frames[path[i]].pc, pc);
}

static void frames_are_left_out(void **state)
{
	(void)state;
	take(5, &(struct backtrace_frames){ .skip = 2 }, MMT_END_WHOLE);
	assert_int_equal(depth, 3);
	assert_frame(0, FIRST + 2);
	assert_frame(2, FIRST + 4);
	take(5, &(struct backtrace_frames){ .skip = 7 }, MMT_END_WHOLE);
	assert_int_equal(depth, 0);
}

static void what_has_returned_is_first(void **state)
{
	(void)state;
	take(5, &(struct backtrace_frames){ .skip = 1, .returned = WRAPPER }, MMT_END_WHOLE);
	assert_int_equal(depth, 5);
	assert_frame(0, WRAPPER);
	assert_frame(1, FIRST + 1);
	assert_frame(4, FIRST + 4);
}

/* There is no room for one more: the outermost frame is left out, not the caller. */
static void a_deep_stack(void **state)
{
	(void)state;
	take(UNWIND_MAX, &(struct backtrace_frames){ .returned = 0 }, MMT_END_WHOLE);
	assert_int_equal(depth, UNWIND_MAX);
	take(UNWIND_MAX, &(struct backtrace_frames){ .returned = WRAPPER }, MMT_END_DEEP);
	assert_int_equal(depth, UNWIND_MAX);
	assert_frame(0, WRAPPER);
	assert_frame(1, FIRST);
	assert_frame(UNWIND_MAX - 1, FIRST + UNWIND_MAX - 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(frames_are_left_out, setup, teardown),
		cmocka_unit_test_setup_teardown(what_has_returned_is_first, setup, teardown),
		cmocka_unit_test_setup_teardown(a_deep_stack, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

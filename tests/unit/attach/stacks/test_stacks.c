/* SPDX-License-Identifier: MIT */
/* stacks: each stack is stored once, with this very process as the target: its modules are real. */
#include "attach/stacks/stacks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static struct modules *modules;
static struct defs defs;
static struct stacks stacks;

static int setup(void **state)
{
	(void)state;
	defs_init(&defs);
	stacks_init(&stacks, modules, &defs, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	stacks_fini(&stacks);
	defs_fini(&defs);
	return 0;
}

static uint32_t intern(const taddr *frames, uint32_t n, enum unwind_end end)
{
	uint32_t number;

	assert_int_equal(stacks_intern(&stacks, frames, n, end, FACT_NONE, &number), 0);
	return number;
}

static uint32_t intern_tagged(const taddr *frames, uint32_t n, const char *text)
{
	uint32_t number, tag;

	assert_int_equal(stacks_tag(&stacks, text, &tag), 0);
	assert_int_equal(stacks_intern(&stacks, frames, n, UNWIND_WHOLE, tag, &number), 0);
	return number;
}

static void assert_frames(uint32_t number, const taddr *frames, uint32_t n)
{
	uint32_t got[UNWIND_MAX];

	assert_int_equal(defs_path(&defs, number, got, UNWIND_MAX), n);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(defs.frames[got[i]].pc, frames[i] & ~UNWIND_EXACT);
}

/* A word on a stack may have the bits of a frame of a script: there are no places, or fewer. */
static void what_looks_like_a_script(void **state)
{
	const struct script_places none = { 0 };
	const taddr frames[] = { UNWIND_EXACT | UNWIND_SCRIPT | 7, UNWIND_EXACT | UNWIND_SCRIPT | 0x3eadbeefdeadbeef };

	(void)state;
	stacks.places = &none;
	assert_frames(intern(frames, 2, UNWIND_WHOLE), frames, 2);
	stacks.places = NULL;
}

static void the_same_is_the_same(void **state)
{
	const taddr a[] = { 0x1000, 0x2000, 0x3000 }, b[] = { 0x1000, 0x2000, 0x3001 },
		    c[] = { 0x1000, 0x2000 };

	(void)state;
	assert_int_equal(intern(a, 3, UNWIND_WHOLE), 0);
	assert_int_equal(intern(b, 3, UNWIND_WHOLE), 1);
	assert_int_equal(intern(c, 2, UNWIND_WHOLE), 2);
	assert_int_equal(intern(a, 3, UNWIND_WHOLE), 0);
	assert_int_equal(intern(b, 3, UNWIND_WHOLE), 1);
	assert_int_equal(intern(c, 2, UNWIND_WHOLE), 2);
	assert_int_equal(defs.nstacks, 3);
	assert_frames(0, a, 3);
	assert_frames(1, b, 3);
	assert_frames(2, c, 2);
}

static void what_was_cut_is_another(void **state)
{
	const taddr a[] = { 0x1000, 0x2000 };

	(void)state;
	assert_int_equal(intern(a, 2, UNWIND_WHOLE), 0);
	assert_int_equal(intern(a, 2, UNWIND_CUT), 1);
	assert_int_equal(defs.stacks[1].end, MMT_END_CUT);
	assert_int_equal(intern(a, 2, UNWIND_WHOLE), 0);
}

static void no_frame_at_all(void **state)
{
	(void)state;
	assert_int_equal(intern(NULL, 0, UNWIND_CUT), 0);
	assert_int_equal(intern(NULL, 0, UNWIND_CUT), 0);
	assert_frames(0, NULL, 0);
}

/* The pc of an interrupted frame and a return address may be the same number, but are two frames. */
static void exact_is_another_place(void **state)
{
	const taddr a[] = { 0x1000 | UNWIND_EXACT }, b[] = { 0x1000 };

	(void)state;
	assert_int_not_equal(intern(a, 1, UNWIND_WHOLE), intern(b, 1, UNWIND_WHOLE));
	assert_int_equal(defs.nframes, 2);
}

static void frames_know_their_module(void **state)
{
	const taddr here = (taddr)(uintptr_t)&intern;
	const taddr a[] = { here + 1, 0x10 };
	uint32_t got[2];

	(void)state;
	defs_path(&defs, intern(a, 2, UNWIND_WHOLE), got, 2);
	assert_ptr_equal(modules_at(modules, defs.modules[defs.frames[got[0]].module].number),
			 modules_find(modules, here));
	assert_int_equal(defs.frames[got[1]].module, DEFS_NONE);
}

/* A return address may be one behind the end of its module (a call that does not return). */
static void the_call_says_the_module(void **state)
{
	const struct module *m = modules_find(modules, (taddr)(uintptr_t)&intern);
	const taddr a[] = { m->hi }, b[] = { m->lo | UNWIND_EXACT };
	uint32_t got[1];

	(void)state;
	defs_path(&defs, intern(a, 1, UNWIND_WHOLE), got, 1);
	assert_ptr_equal(modules_at(modules, defs.modules[defs.frames[got[0]].module].number), m);
	defs_path(&defs, intern(b, 1, UNWIND_WHOLE), got, 1);
	assert_ptr_equal(modules_at(modules, defs.modules[defs.frames[got[0]].module].number), m);
}

static void numbers_outlive_a_change_of_modules(void **state)
{
	const taddr here = (taddr)(uintptr_t)&intern;
	const taddr a[] = { here + 1, here + 2 };
	uint32_t before = intern(a, 2, UNWIND_WHOLE);

	(void)state;
	stacks_modules_changed(&stacks);
	assert_int_equal(intern(a, 2, UNWIND_WHOLE), before); /* the same module is there */
	assert_int_equal(defs.nstacks, 1);
	assert_int_equal(defs.nframes, 2);
}

/* An address in one module and later in another is not one frame. */
static void the_same_pc_in_another_module(void **state)
{
	struct modules *none;
	const taddr here = (taddr)(uintptr_t)&intern;
	const taddr a[] = { here + 1 };
	uint32_t before = intern(a, 1, UNWIND_WHOLE);

	(void)state;
	/* as if the module had been unmapped: a process whose modules are elsewhere */
	assert_int_equal(modules_new(getppid(), &none), 0);
	stacks.modules = none;
	assert_null(modules_find(none, here));
	assert_int_equal(intern(a, 1, UNWIND_WHOLE), before); /* stacks does not know yet */
	stacks_modules_changed(&stacks);
	assert_int_not_equal(intern(a, 1, UNWIND_WHOLE), before);
	assert_frames(before, a, 1);
	modules_free(none);
}

static void many(void **state)
{
	enum { N = 20000, DEPTH = 30 };
	static taddr frames[N][DEPTH];
	uint64_t seed = 88172645463325252ull;

	(void)state;
	for (int i = 0; i < N; i++) {
		for (int j = 0; j < DEPTH; j++) {
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			frames[i][j] = 0x1000 + (j < DEPTH - 4 ? seed % 64 : 0); /* roots in common */
		}
		assert_int_equal(intern(frames[i], DEPTH, UNWIND_WHOLE), i);
	}
	assert_int_equal(defs.nstacks, N);
	assert_in_range(defs.nframes, 1, 64);
	for (int i = 0; i < N; i++) {
		assert_int_equal(intern(frames[i], DEPTH, UNWIND_WHOLE), i);
		assert_frames(i, frames[i], DEPTH);
	}
	assert_true(stacks_memory(&stacks) < 100u * N * DEPTH);
}

static void tags_tell_the_same_frames_apart(void **state)
{
	const taddr a[] = { 0x1000, 0x2000, 0x3000 };
	uint32_t plain = intern(a, 3, UNWIND_WHOLE), red = intern_tagged(a, 3, "red"),
		 blue = intern_tagged(a, 3, "blue");

	(void)state;
	assert_int_not_equal(plain, red);
	assert_int_not_equal(red, blue);
	assert_int_equal(intern_tagged(a, 3, "red"), red);
	assert_int_equal(intern(a, 3, UNWIND_WHOLE), plain);
	assert_string_equal(defs.tags[defs.stacks[red].tag].text, "red");
	assert_int_equal(defs.stacks[plain].tag, DEFS_NONE);
	stacks_modules_changed(&stacks);
	assert_int_equal(intern_tagged(a, 3, "blue"), blue);
	assert_int_equal(defs.ntags, 2);
}

static bool is_low(void *ctx, taddr addr)
{
	++*(int *)ctx;
	return addr < 0x2000;
}

static void frames_to_be_left_out_are_marked(void **state)
{
	/* a return address is behind its call: 0x2000 belongs to the function that ends there */
	const taddr a[] = { 0x2000, 0x2001, 0x1000 | UNWIND_EXACT };
	uint32_t got[3], number;
	int asked = 0;

	(void)state;
	stacks.skipped = is_low;
	stacks.skipped_ctx = &asked;
	number = intern(a, 3, UNWIND_WHOLE);
	intern(a, 3, UNWIND_WHOLE);
	assert_int_equal(asked, 3);
	assert_int_equal(defs_path(&defs, number, got, 3), 3);
	assert_true(defs.frames[got[0]].skip);
	assert_false(defs.frames[got[1]].skip);
	assert_true(defs.frames[got[2]].skip);
}

#define stacks_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		stacks_test(the_same_is_the_same),
		stacks_test(what_looks_like_a_script),
		stacks_test(what_was_cut_is_another),
		stacks_test(no_frame_at_all),
		stacks_test(exact_is_another_place),
		stacks_test(frames_know_their_module),
		stacks_test(the_call_says_the_module),
		stacks_test(numbers_outlive_a_change_of_modules),
		stacks_test(the_same_pc_in_another_module),
		stacks_test(many),
		stacks_test(tags_tell_the_same_frames_apart),
		stacks_test(frames_to_be_left_out_are_marked),
	};
	int failed;

	if (modules_new(getpid(), &modules))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	modules_free(modules);
	return failed;
}

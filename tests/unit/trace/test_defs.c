/* SPDX-License-Identifier: MIT */
/*
 * defs: numbers in any order and of any size, contradictions, missing definitions; and the same facts written
 * again.
 */
#include "trace/defs.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/fact_example.h"
#include "tests/unit/fact_text.h"

static struct defs d;

static int setup(void **state)
{
	(void)state;
	defs_init(&d);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	defs_fini(&d);
	return 0;
}

static int family(uint32_t number, const char *name)
{
	const struct fact f = INFORMATION(FAMILY_NAME, .family_name = { .number = number, .name = name });

	return defs_take(&d, &f);
}

static int module(uint32_t number, taddr lo, const char *path, const char *build_id)
{
	const struct fact f = INFORMATION(MODULE, .module = { number, 1, lo, lo, lo + 4096, path, build_id });

	return defs_take(&d, &f);
}

static int frame(uint32_t number, uint32_t of, taddr pc)
{
	const struct fact f = INFORMATION(FRAME, .frame = { number, of, pc, pc & 1, false });

	return defs_take(&d, &f);
}

static int node(uint32_t number, uint32_t caller, uint32_t of)
{
	const struct fact f = INFORMATION(NODE, .node = { number, caller, of });

	return defs_take(&d, &f);
}

static int stack(uint32_t number, uint32_t leaf, uint32_t end)
{
	const struct fact f = INFORMATION(STACK, .stack = { number, leaf, end, FACT_NONE });

	return defs_take(&d, &f);
}

static int names(uint32_t of, const struct fact_name *all, uint32_t n)
{
	const struct fact f = INFORMATION(NAMES, .names = { of, all, n });

	return defs_take(&d, &f);
}

/* A whole run: numbers are indices, and no table is needed. */
static void in_order(void **state)
{
	uint32_t path[4] = { 9, 9, 9, 9 };

	(void)state;
	assert_int_equal(family(0, "libc"), 0);
	assert_int_equal(module(0, 0x1000, "/a", "12"), 0);
	assert_int_equal(frame(0, 0, 0x10), 0);
	assert_int_equal(frame(1, 1, 0x1010), 0);
	assert_int_equal(node(1, 0, 0), 0);
	assert_int_equal(node(2, 1, 1), 0);
	assert_int_equal(stack(0, 0, MMT_END_LOST), 0);
	assert_int_equal(stack(1, 2, MMT_END_WHOLE), 0);
	assert_int_equal(d.frame_index.other.count + d.node_index.other.count + d.stack_index.other.count +
			 d.module_index.other.count + d.family_index.other.count, 0);
	assert_int_equal(d.frames[0].module, DEFS_NONE);
	assert_int_equal(d.frames[1].module, 0);
	assert_int_equal(d.nodes[1].depth, 2);
	assert_int_equal(d.stacks[0].node, DEFS_NONE);
	assert_int_equal(defs_path(&d, 1, path, 4), 2);
	assert_int_equal(path[0], 1);
	assert_int_equal(path[1], 0);
	assert_int_equal(path[2], 9);
	path[1] = 9;
	assert_int_equal(defs_path(&d, 1, path, 1), 2);
	assert_int_equal(path[1], 9);
	assert_int_equal(defs_path(&d, 0, path, 4), 0);
}

/* Random numbers, in random order: each finds its own definition, and no other number does. */
static void any_numbers(void **state)
{
	enum { MANY = 3000 };
	static uint32_t number[MANY];
	uint64_t random = 7;

	(void)state;
	for (uint32_t i = 0; i < MANY; i++) {
		number[i] = (uint32_t)example_random(&random) % (i % 3 ? 2 * MANY : MOST32);
		uint32_t known = defs_frame(&d, number[i]);
		int want = known == DEFS_NONE ? 0 : d.frames[known].pc == number[i] * 2ull ? 0 : -EINVAL;
		assert_int_equal(frame(number[i], 0, number[i] * 2ull), want);
	}
	for (uint32_t i = 0; i < MANY; i++) {
		uint32_t index = defs_frame(&d, number[i]);
		assert_true(index < d.nframes);
		assert_int_equal(d.frames[index].number, number[i]);
		assert_int_equal(d.frames[index].pc, number[i] * 2ull);
	}
	for (uint32_t i = 0; i < 3 * MANY; i++) {
		uint32_t index = defs_frame(&d, i);
		assert_true(index == DEFS_NONE || d.frames[index].number == i);
	}
}

static void nodes_and_stacks_of_any_numbers(void **state)
{
	uint32_t path[3];

	(void)state;
	assert_int_equal(frame(MOST32, 0, 1), 0);
	assert_int_equal(frame(0, 0, 2), 0);
	assert_int_equal(node(MOST32, 0, MOST32), 0);
	assert_int_equal(node(7, MOST32, 0), 0);
	assert_int_equal(node(1, 7, MOST32), 0);
	assert_int_equal(stack(MOST32, 1, 0), 0);
	assert_int_equal(stack(0, 7, 0), 0);
	assert_int_equal(defs_node(&d, 0), DEFS_NONE);
	assert_int_equal(defs_node(&d, 1), 2);
	assert_int_equal(defs_node(&d, 2), DEFS_NONE);
	assert_int_equal(defs_stack(&d, MOST32), 0);
	assert_int_equal(defs_stack(&d, 0), 1);
	assert_int_equal(defs_path(&d, 0, path, 3), 3);
	assert_int_equal(path[0], 0);
	assert_int_equal(path[1], 1);
	assert_int_equal(path[2], 0);
}

static void what_is_not_defined(void **state)
{
	(void)state;
	assert_int_equal(frame(0, 1, 0x10), -ENOENT);
	assert_int_equal(frame(0, 0, 0x10), 0);
	assert_int_equal(node(1, 0, 1), -ENOENT);
	assert_int_equal(node(1, 2, 0), -ENOENT);
	assert_int_equal(node(1, 1, 0), -ENOENT);	/* its own caller */
	assert_int_equal(node(0, 0, 0), -EINVAL);
	assert_int_equal(stack(0, 1, 0), -ENOENT);
	assert_int_equal(names(1, example_names, 1), -ENOENT);
	assert_int_equal(d.nframes, 1);
	assert_int_equal(d.nnodes + d.nstacks + d.nnames, 0);
}

static void what_contradicts(void **state)
{
	(void)state;
	assert_int_equal(module(0, 0, "/a", ""), 0);
	assert_int_equal(frame(0, 1, 0x10), 0);
	assert_int_equal(frame(1, 0, 0x10), 0);
	assert_int_equal(node(1, 0, 0), 0);
	assert_int_equal(node(2, 1, 0), 0);
	assert_int_equal(stack(0, 2, 1), 0);
	/* once more: unchanged */
	assert_int_equal(module(0, 0, "/a", ""), 0);
	assert_int_equal(frame(0, 1, 0x10), 0);
	assert_int_equal(node(2, 1, 0), 0);
	assert_int_equal(stack(0, 2, 1), 0);
	assert_int_equal(d.nmodules + d.nframes + d.nnodes + d.nstacks, 1 + 2 + 2 + 1);
	assert_int_equal(module(0, 4096, "/a", ""), -EINVAL);
	assert_int_equal(frame(0, 0, 0x10), -EINVAL);
	assert_int_equal(frame(0, 1, 0x11), -EINVAL);
	assert_int_equal(node(2, 0, 0), -EINVAL);
	assert_int_equal(node(2, 1, 1), -EINVAL);
	assert_int_equal(stack(0, 1, 1), -EINVAL);
	assert_int_equal(stack(0, 2, 2), -EINVAL);
}

static void what_becomes_known(void **state)
{
	(void)state;
	assert_int_equal(family(3, NULL), 0);
	assert_null(d.families[0].name);
	assert_int_equal(family(3, "libc"), 0);
	assert_string_equal(d.families[0].name, "libc");
	assert_int_equal(family(3, NULL), 0);
	assert_string_equal(d.families[0].name, "libc");
	assert_int_equal(family(3, "other"), -EINVAL);
	assert_int_equal(module(0, 0, NULL, ""), 0);
	assert_int_equal(module(0, 0, "/a", NULL), 0);
	assert_int_equal(module(0, 0, NULL, "12"), 0);
	assert_string_equal(d.modules[0].path, "/a");
	assert_string_equal(d.modules[0].build_id, "12");
	assert_int_equal(module(0, 0, "/b", "12"), -EINVAL);
	assert_int_equal(module(0, 0, "/a", "13"), -EINVAL);
}

/* An end of a newer version: the stack goes on, but where is not known. */
static void an_unknown_end(void **state)
{
	(void)state;
	assert_int_equal(stack(0, 0, MOST32), 0);
	assert_int_equal(d.stacks[0].end, MMT_END_LOST);
	assert_int_equal(stack(0, 0, MOST32), 0);
}

static void too_deep(void **state)
{
	(void)state;
	assert_int_equal(frame(0, 0, 1), 0);
	for (uint32_t i = 1; i <= DEFS_DEPTH_MAX; i++)
		assert_int_equal(node(i, i - 1, 0), 0);
	assert_int_equal(node(DEFS_DEPTH_MAX + 1, DEFS_DEPTH_MAX, 0), -EINVAL);
}

static void names_are_replaced(void **state)
{
	struct fact_name many[DEFS_NAMES_MAX + 1] = { 0 };
	struct fact_name out[3];
	struct fact f;

	(void)state;
	assert_int_equal(frame(5, 0, 1), 0);
	assert_int_equal(names(5, example_names + 1, 1), 0);
	assert_int_equal(names(5, example_names, 3), 0);
	defs_names_fact(&d, 0, out, &f);
	assert_int_equal(f.names.n, 3);
	assert_string_equal(out[0].function, "operator new");
	assert_string_equal(out[0].linkage, "_Znwm");
	assert_null(out[1].function);
	assert_string_equal(out[2].function, "");
	assert_int_equal(names(5, many, DEFS_NAMES_MAX + 1), -EINVAL);
	assert_int_equal(d.frames[0].nnames, 3);
	/* a million times, more and fewer in turn: no more room than for the most */
	for (uint32_t i = 0; i < 1000000; i++)
		assert_int_equal(names(5, example_names, i % 4), 0);
	assert_int_equal(d.nnames, 1 + 3);
	assert_int_equal(names(5, example_names, 2), 0);
	assert_int_equal(d.frames[0].nnames, 2);
}

static void not_a_definition(void **state)
{
	const struct fact note = INFORMATION(NOTE, .note = "x"), alloc = EVENT(ALLOC, .addr = 1);
	/* an event whose kind has the number of a definition */
	const struct fact release = { .kind = MMT_STACK };

	(void)state;
	assert_int_equal(defs_take(&d, &note), -EINVAL);
	assert_int_equal(defs_take(&d, &alloc), -EINVAL);
	assert_int_equal(defs_take(&d, &release), -EINVAL);
}

static int tag(uint32_t number, const char *text)
{
	const struct fact f = INFORMATION(TAG, .tag = { number, text });

	return defs_take(&d, &f);
}

static int tagged(uint32_t number, uint32_t its)
{
	const struct fact f = INFORMATION(STACK, .stack = { number, 0, MMT_END_WHOLE, its });

	return defs_take(&d, &f);
}

/* The same frames, but another stack. */
static void stacks_with_tags(void **state)
{
	(void)state;
	assert_int_equal(tagged(0, 8), -ENOENT);
	assert_int_equal(tag(7, "char"), 0);
	assert_int_equal(tag(0, NULL), 0);
	assert_int_equal(tag(7, "char"), 0);
	assert_int_equal(tag(7, "int"), -EINVAL);
	assert_int_equal(d.ntags, 2);
	assert_int_equal(tagged(0, 8), 0);
	assert_int_equal(tagged(1, 1), 0);
	assert_int_equal(tagged(2, FACT_NONE), 0);
	assert_int_equal(tagged(0, 8), 0);
	assert_int_equal(tagged(0, 1), -EINVAL);
	assert_int_equal(tagged(0, FACT_NONE), -EINVAL);
	assert_string_equal(d.tags[d.stacks[0].tag].text, "char");
	assert_string_equal(d.tags[d.stacks[1].tag].text, "");
	assert_int_equal(d.stacks[2].tag, DEFS_NONE);
	assert_int_equal(defs_tag(&d, 7), 0);
	assert_int_equal(defs_tag(&d, 1), DEFS_NONE);
}

static int kind(uint32_t number, const char *name, bool refs, const char *noun)
{
	const struct fact f = INFORMATION(FAMILY_NAME, .family_name = { number, name, noun, refs, false });

	return defs_take(&d, &f);
}

/* A family without a name may still become of another kind. */
static void kinds_of_families(void **state)
{
	(void)state;
	assert_int_equal(kind(0, NULL, false, NULL), 0);
	assert_int_equal(kind(0, NULL, true, NULL), 0);
	assert_int_equal(kind(0, "fd", false, NULL), 0);
	assert_false(d.families[0].refs);
	assert_int_equal(kind(0, "fd", true, NULL), -EINVAL);
	assert_int_equal(kind(0, "fd", false, "descriptor"), 0);
	assert_int_equal(kind(0, "fd", false, NULL), 0);
	assert_int_equal(kind(0, "fd", false, "other"), -EINVAL);
	assert_string_equal(d.families[0].noun, "descriptor");
	assert_int_equal(kind(1, "dict", true, NULL), 0);
	assert_true(d.families[1].refs);
	assert_int_equal(kind(1, NULL, false, NULL), -EINVAL);
}

static void frames_that_are_skipped(void **state)
{
	const struct fact skipped = INFORMATION(FRAME, .frame = { 1, FACT_NONE, 0x10, false, true });
	const struct fact shown = INFORMATION(FRAME, .frame = { 1, FACT_NONE, 0x10, false, false });

	(void)state;
	assert_int_equal(defs_take(&d, &skipped), 0);
	assert_int_equal(defs_take(&d, &skipped), 0);
	assert_int_equal(defs_take(&d, &shown), -EINVAL);
	assert_true(d.frames[0].skip);
}

/* What goes in comes out, by its numbers. */
static void out_again(void **state)
{
	static const struct fact in[] = {
		INFORMATION(FAMILY_NAME, .family_name = { .number = 9, .name = "libc" }),
		INFORMATION(FAMILY_NAME, .family_name = { 7, "dict", "dictionary", true, false }),
		INFORMATION(MODULE, .module = { 4, 8, 0x1000, 0x2000, 0x3000, "/lib/a", "ab" }),
		INFORMATION(FRAME, .frame = { 11, 5, 0x2001, true, false }),
		INFORMATION(FRAME, .frame = { 10, FACT_NONE, 0x99, false, true }),
		INFORMATION(NODE, .node = { 21, 0, 11 }),
		INFORMATION(NODE, .node = { 20, 21, 10 }),
		INFORMATION(TAG, .tag = { 41, "char" }),
		INFORMATION(STACK, .stack = { 31, 20, MMT_END_CUT, 42 }),
		INFORMATION(STACK, .stack = { 30, 0, MMT_END_LOST, FACT_NONE }),
		INFORMATION(NAMES, .names = { 11, example_names, 3 }),
	};
	cleanup_strbuf struct strbuf want = STRBUF_INIT, got = STRBUF_INIT;
	struct fact_name room[3];
	struct fact f;

	(void)state;
	for (size_t i = 0; i < sizeof(in) / sizeof(in[0]); i++) {
		assert_int_equal(defs_take(&d, &in[i]), 0);
		fact_text(&want, &in[i]);
	}
	defs_family_fact(&d, 0, &f), fact_text(&got, &f);
	defs_family_fact(&d, 1, &f), fact_text(&got, &f);
	defs_module_fact(&d, 0, &f), fact_text(&got, &f);
	defs_frame_fact(&d, 0, &f), fact_text(&got, &f);
	defs_frame_fact(&d, 1, &f), fact_text(&got, &f);
	defs_node_fact(&d, 0, &f), fact_text(&got, &f);
	defs_node_fact(&d, 1, &f), fact_text(&got, &f);
	defs_tag_fact(&d, 0, &f), fact_text(&got, &f);
	defs_stack_fact(&d, 0, &f), fact_text(&got, &f);
	defs_stack_fact(&d, 1, &f), fact_text(&got, &f);
	defs_names_fact(&d, 0, room, &f), fact_text(&got, &f);
	assert_string_equal(strbuf_str(&got), strbuf_str(&want));
}

/* Huge numbers cost no more than small ones. */
static void memory_is_bounded(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		assert_int_equal(frame(MOST32 - i, 0, i), 0);
		assert_int_equal(node(MOST32 - i, 0, MOST32 - i), 0);
		assert_int_equal(stack(MOST32 - i, MOST32 - i, 0), 0);
		assert_int_equal(module(MOST32 - i, i, "/a", "b"), 0);
		assert_int_equal(family(MOST32 - i, "x"), 0);
		assert_int_equal(tag(MOST32 - i, "x"), 0);
	}
	assert_true(defs_memory(&d) > 1000 * (sizeof(*d.frames) + sizeof(*d.nodes)));
	assert_true(defs_memory(&d) < 1000 * 400);
	assert_ptr_equal(defs_string(&d, "/a"), d.modules[0].path);
	assert_null(defs_string(&d, NULL));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(in_order),
		TEST(any_numbers),
		TEST(nodes_and_stacks_of_any_numbers),
		TEST(what_is_not_defined),
		TEST(what_contradicts),
		TEST(what_becomes_known),
		TEST(an_unknown_end),
		TEST(too_deep),
		TEST(names_are_replaced),
		TEST(not_a_definition),
		TEST(stacks_with_tags),
		TEST(kinds_of_families),
		TEST(frames_that_are_skipped),
		TEST(out_again),
		TEST(memory_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

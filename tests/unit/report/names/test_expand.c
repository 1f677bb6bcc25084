/* SPDX-License-Identifier: MIT */
/*
 * expand: of a stack with very many frames only so many are shown, each with all its names, and the end is
 * marked.
 */
#include "report/names/expand.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct defs defs;

static void define(struct fact f)
{
	f.kind = MMT_INFO;
	assert_int_equal(defs_take(&defs, &f), 0);
}

/* Stack 0: @depth frames, all the same one, which has @nnames names. */
static void define_stack(uint32_t depth, uint32_t nnames)
{
	struct fact_name *names = calloc(nnames, sizeof(*names));

	defs_init(&defs);
	for (uint32_t i = 0; i < nnames; i++)
		names[i] = (struct fact_name){ .function = i + 1 < nnames ? "inlined" : "outer",
					       .inlined = i + 1 < nnames };
	define((struct fact){ .info = MMT_FRAME, .frame = { 0, FACT_NONE, 0x1000, false, false } });
	define((struct fact){ .info = MMT_NAMES, .names = { 0, names, nnames } });
	for (uint32_t i = 1; i <= depth; i++)
		define((struct fact){ .info = MMT_NODE, .node = { i, i - 1, 0 } });
	define((struct fact){ .info = MMT_STACK, .stack = { 0, depth, MMT_END_WHOLE, FACT_NONE } });
	free(names);
}

static void assert_expanded(uint32_t depth, uint32_t nnames, size_t wanted, enum summary_stack_end end)
{
	struct stack_view stack;

	define_stack(depth, nnames);
	assert_int_equal(expand_stack(&defs, 0, &stack), 0);
	assert_int_equal(stack.depth, wanted);
	assert_int_equal(stack.end, end);
	assert_string_equal(stack.frames[wanted - 1].function, "outer");
	free(stack.frames);
	defs_fini(&defs);
}

static void as_many_as_there_are(void **state)
{
	(void)state;
	assert_expanded(1, 1, 1, STACK_WHOLE);
	assert_expanded(EXPAND_MAX / 2, 2, EXPAND_MAX, STACK_WHOLE);
	assert_expanded(1, DEFS_NAMES_MAX, DEFS_NAMES_MAX, STACK_WHOLE);
}

static void not_more_than_the_limit(void **state)
{
	(void)state;
	assert_expanded(EXPAND_MAX / 2 + 1, 2, EXPAND_MAX, STACK_DEEP);
	assert_expanded(EXPAND_MAX, 3, EXPAND_MAX / 3 * 3, STACK_DEEP);
	assert_expanded(DEFS_DEPTH_MAX, DEFS_NAMES_MAX, EXPAND_MAX, STACK_DEEP);
}

/* A small file may have very many stacks of this depth, and each is expanded in memory. */
static void nor_deeper_than_a_report_can_bear(void **state)
{
	const struct fact deeper = { .kind = MMT_INFO, .info = MMT_NODE, .node = { 4097, 4096, 0 } };

	(void)state;
	define_stack(4096, 1);
	assert_int_equal(defs_take(&defs, &deeper), -EINVAL);
	defs_fini(&defs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_many_as_there_are),
		cmocka_unit_test(not_more_than_the_limit),
		cmocka_unit_test(nor_deeper_than_a_report_can_bear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

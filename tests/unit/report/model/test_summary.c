/* SPDX-License-Identifier: MIT */
/* summary: what is added is copied, strings are stored once, groups have a unique order. */
#include "report/model/summary.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void what_is_given_is_copied(void **state)
{
	struct summary s;
	char name[] = "worker", file[] = "/bin/x";
	struct summary_frame stack[] = { { .pc = 1, .function = name, .module = file, .line = 7 },
					 { .pc = 2 } };
	taddr samples[] = { 0x10, 0x20 };
	struct summary_group group = { .family = "libc", .blocks = 1, .stack = { stack, 2 },
				       .samples = samples, .nsamples = 2 };

	(void)state;
	summary_init(&s);
	summary_add_group(&s, &group);
	summary_set_target(&s, 5, name, file);
	summary_add_arg(&s, name);
	summary_add_arg(&s, "");
	summary_note(&s, "%s was %d", name, 3);
	memset(name, '!', sizeof(name) - 1);
	stack[0].line = samples[0] = 0;
	group.blocks = 0;

	assert_string_equal(s.groups[0].stack.frames[0].function, "worker");
	assert_int_equal(s.groups[0].stack.frames[0].line, 7);
	assert_null(s.groups[0].stack.frames[1].function);
	assert_int_equal(s.groups[0].samples[0], 0x10);
	assert_int_equal(s.groups[0].blocks, 1);
	assert_string_equal(s.target.comm, "worker");
	assert_int_equal(s.target.nargs, 2);
	assert_string_equal(s.target.cmdline[0], "worker");
	assert_string_equal(s.notes[0], "worker was 3");
	assert_int_equal(summary_error(&s), 0);
	summary_fini(&s);
}

static void series_and_double_frees_are_copied(void **state)
{
	struct summary s;
	char name[] = "worker", linkage[] = "_Zworker";
	struct summary_frame frame = { .pc = 1, .function = name, .linkage = linkage };
	struct growth_point series[] = { { 1, 100, 0 }, { 2, 200, 0 } };
	struct summary_twice twice = { .family = name, .count = 3, .second = { &frame, 1, STACK_CUT },
				       .alloc = { &frame, 1, STACK_WHOLE } };

	(void)state;
	summary_init(&s);
	summary_add_group(&s,
			  &(struct summary_group){ .series = series, .npoints = 2, .stack = { &frame, 1 } });
	summary_add_twice(&s, &twice);
	summary_add_suppression(&s, &(struct summary_suppression){ name, linkage, 1, 2, 3 });
	memset(name, '!', sizeof(name) - 1);
	memset(linkage, '!', sizeof(linkage) - 1);
	series[1].bytes = frame.pc = 0;

	assert_int_equal(s.groups[0].npoints, 2);
	assert_int_equal(s.groups[0].series[1].bytes, 200);
	assert_string_equal(s.groups[0].stack.frames[0].linkage, "_Zworker");
	assert_string_equal(s.twice[0].family, "worker");
	assert_int_equal(s.twice[0].count, 3);
	assert_int_equal(s.twice[0].second.end, STACK_CUT);
	assert_string_equal(s.twice[0].second.frames[0].function, "worker");
	assert_int_equal(s.twice[0].alloc.frames[0].pc, 1);
	assert_int_equal(s.twice[0].first.depth, 0);
	assert_string_equal(s.suppressions[0].name, "worker");
	assert_string_equal(s.suppressions[0].where, "_Zworker");
	assert_int_equal(s.suppressions[0].bytes, 3);
	assert_int_equal(summary_error(&s), 0);
	summary_fini(&s);
}

static void each_string_once(void **state)
{
	struct summary s;
	char text[16];

	(void)state;
	summary_init(&s);
	for (int i = 0; i < 5000; i++) {
		snprintf(text, sizeof(text), "f%d", i % 1000);
		assert_string_equal(summary_string(&s, text), text);
	}
	assert_int_equal(s.strings.n, 1000);
	assert_ptr_equal(summary_string(&s, "f7"), summary_string(&s, "f7"));
	assert_null(summary_string(&s, NULL));
	summary_fini(&s);
}

static void losses_add_up(void **state)
{
	struct summary s;

	(void)state;
	summary_init(&s);
	summary_add_lost(&s, "ring full", 0);
	assert_int_equal(s.run.nlost, 0);
	summary_add_lost(&s, "ring full", 2);
	summary_add_lost(&s, "no memory", 1);
	summary_add_lost(&s, "ring full", 3);
	assert_int_equal(s.run.nlost, 2);
	assert_int_equal(s.run.lost[0].count, 5);
	assert_int_equal(summary_lost_total(&s), 6);
	summary_fini(&s);
}

static void probes_and_gaps(void **state)
{
	struct summary s;

	(void)state;
	summary_init(&s);
	for (uint64_t i = 0; i < 20; i++)
		summary_add_probe(&s, &(struct summary_probe){
					      .family = "libc", .rule = "alloc malloc", .hits = i });
	summary_add_gap(&s, 1.5, 2, "stopped");
	assert_int_equal(s.run.nprobes, 20);
	assert_int_equal(s.run.probes[19].hits, 19);
	assert_null(s.run.probes[0].module);
	assert_string_equal(s.run.gaps[0].why, "stopped");
	summary_fini(&s);
}

static void add_numbers(struct summary *s, uint64_t bytes, uint64_t blocks, taddr pc)
{
	struct summary_frame frame = { .pc = pc };

	summary_add_group(s, &(struct summary_group){
				     .bytes = bytes, .blocks = blocks, .stack = { &frame, 1 } });
}

static void most_bytes_first(void **state)
{
	static const taddr want[] = { 4, 1, 5, 2, 3 };
	struct summary s;

	(void)state;
	summary_init(&s);
	summary_sort(&s);
	add_numbers(&s, 10, 1, 3);
	add_numbers(&s, 300, 1, 1);
	add_numbers(&s, 10, 1, 2);
	add_numbers(&s, UINT64_MAX, 1, 4);
	add_numbers(&s, 10, 2, 5);
	summary_sort(&s);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(s.groups[i].stack.frames[0].pc, want[i]);
	summary_fini(&s);
}

/* In whatever order they were added: two families, or two verdicts, may share a stack. */
static void equal_ones_have_an_order_too(void **state)
{
	static const char *const families[] = { "a", "b", "c" };
	struct summary s;

	(void)state;
	for (int turn = 0; turn < 2; turn++) {
		summary_init(&s);
		for (int i = 0; i < 3; i++)
			summary_add_group(&s, &(struct summary_group){ .family = families[turn ? 2 - i : i],
								       .bytes = 7 });
		summary_add_group(&s, &(struct summary_group){
					      .family = "a", .bytes = 7, .verdict = VERDICT_DEFINITE });
		summary_sort(&s);
		assert_string_equal(s.groups[0].family, "a");
		assert_int_equal(s.groups[0].verdict, VERDICT_DEFINITE);
		assert_int_equal(s.groups[1].verdict, VERDICT_UNKNOWN);
		assert_string_equal(s.groups[2].family, "b");
		assert_string_equal(s.groups[3].family, "c");
		summary_fini(&s);
	}
}

/* The groups of each family by bytes; a family that is not listed comes last. */
static void families_in_their_order(void **state)
{
	static const uint64_t want[] = { 2, 0, 3, 1 };
	struct summary s;

	(void)state;
	summary_init(&s);
	summary_add_family(&s, &(struct summary_family){ .name = "z" });
	summary_add_family(&s, &(struct summary_family){ .name = "a", .refs = true });
	summary_add_family(&s, &(struct summary_family){ .name = "fd", .noun = "descriptor" });
	assert_string_equal(s.families[0].noun, "block");
	assert_string_equal(s.families[1].noun, "object");
	assert_string_equal(summary_family(&s, "fd")->noun, "descriptor");
	assert_string_equal(summary_family(&s, "none")->noun, "block");
	for (uint64_t i = 0; i < 4; i++)
		summary_add_group(&s, &(struct summary_group){ .family = i & 1 ? "fd" : "z", .bytes = i });
	summary_sort(&s);
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(s.groups[i].bytes, want[i]);
	summary_fini(&s);
}

static void add_objects(struct summary *s, uint64_t objects, int64_t net, bool older, bool counted)
{
	summary_add_refs(s, &(struct summary_refs){ .family = "a", .objects = objects, .net = net,
						    .older = older,
						    .counted = counted });
}

static void what_is_no_leak_comes_last(void **state)
{
	static const uint64_t want[] = { 7, 6, 1, 9, 8, 100 };
	struct summary s;

	(void)state;
	summary_init(&s);
	add_objects(&s, 100, -1, true, false);
	add_objects(&s, 8, 1, true, false);
	add_objects(&s, 9, 3, true, true);
	add_objects(&s, 1, -1, false, false);
	add_objects(&s, 6, 1, false, true);
	add_objects(&s, 7, 1, false, false);
	summary_sort(&s);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(s.refs[i].objects, want[i]);
	summary_fini(&s);
}

static void stacks_are_kept(void **state)
{
	char name[] = "worker";
	struct summary_frame frame = { .pc = 1, .function = name };
	struct stack_view kept;
	struct summary s;

	(void)state;
	summary_init(&s);
	kept = summary_keep_stack(&s, &(struct stack_view){ .frames = &frame, .depth = 1 });
	memset(name, '!', sizeof(name) - 1);
	assert_int_equal(kept.depth, 1);
	assert_string_equal(kept.frames[0].function, "worker");
	assert_null(summary_keep_stack(&s, &(struct stack_view){ 0 }).frames);
	assert_int_equal(summary_error(&s), 0);
	summary_fini(&s);
}

static void want_of_memory_is_sticky(void **state)
{
	struct summary s;
	struct summary_frame frame = { .pc = 1 };
	struct summary_group group = { .stack = { &frame, SIZE_MAX / sizeof(frame) / 2 } };

	(void)state;
	summary_init(&s);
	summary_add_group(&s, &group);
	assert_int_equal(summary_error(&s), -ENOMEM);
	group.stack.depth = 1;
	summary_add_group(&s, &group);
	assert_int_equal(summary_error(&s), -ENOMEM);
	summary_fini(&s);
}

static void verdicts_have_names(void **state)
{
	(void)state;
	assert_string_equal(verdict_name(VERDICT_UNKNOWN), "unknown");
	assert_string_equal(verdict_name(VERDICT_REACHABLE), "reachable");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_given_is_copied),
		cmocka_unit_test(series_and_double_frees_are_copied),
		cmocka_unit_test(each_string_once),
		cmocka_unit_test(losses_add_up),
		cmocka_unit_test(probes_and_gaps),
		cmocka_unit_test(most_bytes_first),
		cmocka_unit_test(equal_ones_have_an_order_too),
		cmocka_unit_test(families_in_their_order),
		cmocka_unit_test(what_is_no_leak_comes_last),
		cmocka_unit_test(stacks_are_kept),
		cmocka_unit_test(want_of_memory_is_sticky),
		cmocka_unit_test(verdicts_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

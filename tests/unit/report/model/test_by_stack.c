/* SPDX-License-Identifier: MIT */
/* by_stack: one leak is one row, nothing is counted twice or left out, and its growth is that of all of it. */
#include "report/model/by_stack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/taddr.h"

#define POINTS 30

static struct summary s;
static struct by_stack b;

static int begin(void **state)
{
	(void)state;
	summary_init(&s);
	s.run.seconds = POINTS;
	return 0;
}

static int end(void **state)
{
	(void)state;
	by_stack_fini(&b);
	summary_fini(&s);
	return 0;
}

/* A group of a stack that has one frame, at @pc, with blocks of 10 bytes; its serial number. */
static size_t group(taddr pc, enum verdict verdict, uint64_t blocks)
{
	struct summary_frame frame = { .pc = pc };
	struct growth_point series[POINTS];
	struct summary_group g = {
		.family = "libc", .blocks = blocks, .bytes = 10 * blocks, .verdict = verdict, .allocs = 1000,
		.frees = 100, .oldest_s = 20, .youngest_s = 1, .series = series, .npoints = POINTS,
		.stack = { .frames = &frame, .depth = 1 },
	};

	for (size_t i = 0; i < POINTS; i++)
		series[i] = (struct growth_point){ (double)i + 1, g.bytes * (i + 1) / POINTS, 0 };
	for (size_t i = 0; i < s.ngroups && !g.split; i++)
		if (s.groups[i].stack.frames[0].pc == pc) {
			g.split = true;
			g.split_from = i;
		}
	summary_add_group(&s, &g);
	return s.ngroups - 1;
}

static void hang(size_t root, size_t on, uint64_t blocks)
{
	summary_add_hang(&s, &s.groups[root], &(struct summary_hang){ on, blocks, 10 * blocks });
	s.groups[on].held = true;
	s.groups[root].kind.indirect_blocks += blocks;
	s.groups[root].kind.indirect_bytes += 10 * blocks;
}

/* The rows of a stack are a ring: their own blocks are all that were allocated there and not freed. */
static void assert_balance(size_t index)
{
	const struct summary_group *g = &b.view.groups[index], *at = g;
	uint64_t in_view = 0, in_summary = 0;

	do {
		uint64_t parts = 0;

		for (size_t v = 0; v < VERDICT_COUNT; v++)
			parts += at->parts[v].blocks;
		assert_int_equal(parts, at->blocks);
		in_view += at->blocks;
		if (at->split)
			at = &b.view.groups[summary_index(&b.view, at->split_from)];
	} while (at != g);
	for (size_t i = 0; i < s.ngroups; i++)
		if (s.groups[i].stack.frames[0].pc == g->stack.frames[0].pc)
			in_summary += s.groups[i].blocks;
	assert_int_equal(in_view, in_summary);
}

static void make(void)
{
	summary_sort(&s);
	assert_int_equal(by_stack_make(&s, &b), 0);
	for (size_t i = 0; i < b.view.ngroups; i++)
		assert_balance(i);
}

static const struct summary_group *of(size_t serial)
{
	return &b.view.groups[b.index_of[summary_index(&s, serial)]];
}

static void assert_part(const struct summary_group *g, enum verdict verdict, uint64_t blocks)
{
	assert_int_equal(g->parts[verdict].blocks, blocks);
	assert_int_equal(g->parts[verdict].bytes, 10 * blocks);
}

static void the_young_ones_belong_to_the_leak(void **state)
{
	size_t definite, possible, reachable;

	(void)state;
	definite = group(1, VERDICT_DEFINITE, 80);
	possible = group(1, VERDICT_POSSIBLE, 8);
	reachable = group(1, VERDICT_REACHABLE, 11);
	group(2, VERDICT_REACHABLE, 5);
	make();
	assert_int_equal(b.view.ngroups, 2);
	assert_ptr_equal(of(definite), of(possible));
	assert_ptr_equal(of(definite), of(reachable));
	assert_int_equal(of(definite)->blocks, 99);
	assert_int_equal(of(definite)->verdict, VERDICT_DEFINITE);
	assert_part(of(definite), VERDICT_DEFINITE, 80);
	assert_part(of(definite), VERDICT_POSSIBLE, 8);
	assert_part(of(definite), VERDICT_REACHABLE, 11);
	assert_false(of(definite)->split);
	assert_int_equal(summary_section(&b.view, of(definite)), SUMMARY_LOST);
}

/* What one of its groups has replaced, the row has. */
static void what_is_replaced_is_added_up(void **state)
{
	const size_t definite = group(1, VERDICT_DEFINITE, 80), reachable = group(1, VERDICT_REACHABLE, 8);

	(void)state;
	for (size_t i = 0; i < s.groups[reachable].npoints; i++)
		s.groups[reachable].series[i].older = 1000 - i;
	make();
	assert_ptr_equal(of(definite), of(reachable));
	assert_true(of(definite)->npoints > 8);
	for (size_t i = 0; i < of(definite)->npoints; i++)
		assert_int_equal(of(definite)->series[i].older, 1000 - i);
	assert_true(of(definite)->growth.replaced_per_minute > 0);
}

/* The group's blocks are those of a sample by bytes, one in @interval, of which each stands for its share. */
static void sampled(size_t serial, uint64_t interval)
{
	struct summary_group *g = &s.groups[serial];
	const uint64_t seen = (uint64_t)(byte_sample_share(interval, 10) * (double)g->blocks + 0.5);

	for (uint64_t i = 0; i < seen; i++)
		byte_sample_add(&g->sample_of, interval, 10);
}

/* The row's interval is that of all that it has been made of; and it grows no more surely than its groups do. */
static void a_row_of_a_sample(void **state)
{
	const size_t definite = group(1, VERDICT_DEFINITE, 3000), possible = group(1, VERDICT_POSSIBLE, 1000);
	struct summary_bounds all;

	(void)state;
	sampled(definite, 1000);
	sampled(possible, 1000);
	make();
	assert_ptr_equal(of(definite), of(possible));
	all = summary_bounds_of(of(definite));
	assert_int_equal(of(definite)->sample_of.seen, 48 + 16);
	assert_true(all.blocks_low > 3000 && all.blocks_low < 4000 && all.blocks_high > 4000 && all.blocks_high < 5300);
	assert_true(all.bytes_low > 30000 && all.bytes_low < 40000 && all.bytes_high > 40000 && all.bytes_high < 53000);
}

static void a_row_that_grows_by_chance(void **state)
{
	size_t definite;

	(void)state;
	definite = group(1, VERDICT_DEFINITE, 3000);
	group(1, VERDICT_POSSIBLE, 1000);
	make();
	assert_true(growth_rises(&of(definite)->growth));
	by_stack_fini(&b);
	/* as many as a single block stands for */
	sampled(definite, 80000);
	make();
	assert_false(growth_rises(&of(definite)->growth));
}

/* A cache some of whose entries are lost: the cache is not lost. */
static void a_cache_is_a_row_of_its_own(void **state)
{
	size_t definite, reachable;

	(void)state;
	definite = group(1, VERDICT_DEFINITE, 80);
	reachable = group(1, VERDICT_REACHABLE, 12);
	make();
	assert_int_equal(b.view.ngroups, 2);
	assert_int_equal(of(definite)->blocks, 80);
	assert_int_equal(of(reachable)->blocks, 12);
	assert_int_equal(of(reachable)->verdict, VERDICT_REACHABLE);
	assert_ptr_equal(&b.view.groups[summary_index(&b.view, of(definite)->split_from)], of(reachable));
	assert_ptr_equal(&b.view.groups[summary_index(&b.view, of(reachable)->split_from)], of(definite));
}

/* More is possibly than definitely lost; it is listed as lost all the same. */
static void the_verdict_is_that_of_most(void **state)
{
	size_t definite;

	(void)state;
	definite = group(1, VERDICT_DEFINITE, 3);
	group(1, VERDICT_POSSIBLE, 5);
	make();
	assert_int_equal(b.view.ngroups, 1);
	assert_int_equal(of(definite)->verdict, VERDICT_POSSIBLE);
	assert_int_equal(summary_section(&b.view, of(definite)), SUMMARY_LOST);
}

/* The nodes of a list that is lost by its head. */
static void a_list_of_one_stack(void **state)
{
	size_t head, nodes;

	(void)state;
	head = group(1, VERDICT_DEFINITE, 1);
	nodes = group(1, VERDICT_INDIRECT, 50);
	hang(head, nodes, 50);
	make();
	assert_int_equal(b.view.ngroups, 1);
	assert_ptr_equal(of(head), of(nodes));
	assert_int_equal(of(head)->blocks, 51);
	assert_int_equal(of(head)->verdict, VERDICT_DEFINITE);
	assert_int_equal(summary_weight(of(head)), 510);
	assert_int_equal(of(head)->nhangs, 0);
}

/* 30 of 50 hang on blocks of the same stack, 20 on another one's. */
static void a_part_of_the_same_stack(void **state)
{
	size_t head, nodes, other;

	(void)state;
	head = group(1, VERDICT_DEFINITE, 1);
	nodes = group(1, VERDICT_INDIRECT, 50);
	other = group(2, VERDICT_DEFINITE, 4);
	hang(head, nodes, 30);
	hang(other, nodes, 20);
	make();
	assert_int_equal(b.view.ngroups, 3);
	assert_part(of(head), VERDICT_INDIRECT, 30);
	assert_part(of(nodes), VERDICT_INDIRECT, 20);
	assert_int_equal(of(nodes)->blocks, 20);
	assert_int_equal(of(head)->series[POINTS - 1].bytes, 310);
	assert_int_equal(of(nodes)->series[POINTS - 1].bytes, 200);
	assert_int_equal(of(other)->series[POINTS - 1].bytes, 240);
	assert_int_equal(summary_weight(of(head)), 310);
	assert_int_equal(summary_weight(of(other)), 240);
	assert_int_equal(of(other)->nhangs, 1);
	assert_ptr_equal(&b.view.groups[summary_index(&b.view, of(other)->hangs[0].serial)], of(nodes));
	assert_int_equal(summary_section(&b.view, of(nodes)), SUMMARY_HELD);
	assert_true(of(head)->split && of(nodes)->split);
}

/* Of both groups of a stack, which are one row, hangs a part of the same group. */
static void hangs_of_merged_groups_are_added_up(void **state)
{
	size_t definite, possible, on;

	(void)state;
	definite = group(1, VERDICT_DEFINITE, 4);
	possible = group(1, VERDICT_POSSIBLE, 2);
	on = group(2, VERDICT_INDIRECT, 60);
	group(2, VERDICT_REACHABLE, 3);
	hang(definite, on, 40);
	hang(possible, on, 20);
	make();
	assert_int_equal(b.view.ngroups, 2);
	assert_int_equal(of(definite)->nhangs, 1);
	assert_int_equal(of(definite)->hangs[0].blocks, 60);
	assert_int_equal(summary_weight(of(definite)), 660);
	assert_int_equal(of(definite)->kind.indirect_blocks, 60);
	/* the three that are still reachable are on their way to be lost with it */
	assert_part(of(on), VERDICT_REACHABLE, 3);
	assert_int_equal(summary_section(&b.view, of(on)), SUMMARY_HELD);
}

/* 7 more are lost with it, which are in no group. */
static void what_is_older_is_not_counted(void **state)
{
	size_t head, nodes;

	(void)state;
	head = group(1, VERDICT_DEFINITE, 4);
	nodes = group(2, VERDICT_INDIRECT, 20);
	hang(head, nodes, 20);
	s.groups[head].kind.indirect_blocks += 7;
	s.groups[head].kind.indirect_bytes += 70;
	make();
	assert_int_equal(summary_weight(of(head)), 240);
	assert_int_equal(of(head)->kind.indirect_blocks, 20);
	assert_int_equal(of(head)->uncounted.blocks, 7);
	assert_int_equal(of(head)->uncounted.bytes, 70);
	assert_int_equal(of(nodes)->uncounted.blocks, 0);
	/* by --older-than, less is lost with it than hangs on it */
	by_stack_fini(&b);
	s.groups[summary_index(&s, head)].kind.indirect_blocks = 15;
	s.groups[summary_index(&s, head)].kind.indirect_bytes = 150;
	assert_int_equal(by_stack_make(&s, &b), 0);
	assert_int_equal(summary_weight(of(head)), 240);
	assert_int_equal(of(head)->uncounted.blocks, 0);
}

static void set_series(size_t serial, uint64_t (*bytes)(size_t second))
{
	for (size_t i = 0; i < POINTS; i++)
		s.groups[serial].series[i].bytes = bytes(i + 1);
}

static uint64_t until_20(size_t second)
{
	return 30 * (second < 20 ? second : 20);
}

static uint64_t from_20(size_t second)
{
	return second < 20 ? 0 : 30 * (second - 20);
}

/* Blocks are lost ten seconds after their birth: what is lost has come to rest, what leaks has not. */
static void what_is_not_lost_yet_grows_too(void **state)
{
	size_t head, lost, young;

	(void)state;
	head = group(1, VERDICT_DEFINITE, 1);
	lost = group(2, VERDICT_INDIRECT, 600 / 10);
	young = group(2, VERDICT_REACHABLE, 7);
	set_series(lost, until_20);
	set_series(young, from_20);
	hang(head, lost, 60);
	make();
	assert_ptr_equal(of(lost), of(young));
	assert_int_equal(of(head)->npoints, POINTS);
	assert_int_equal(of(head)->series[POINTS - 1].bytes, 10 + 600 + 300);
	assert_int_equal(of(head)->growth.shape, GROWTH_GROWS);
	assert_in_range((uint64_t)of(head)->growth.bytes_per_minute, 1700, 1900);
}

/* Whatever hangs on what: the rows have all bytes once. */
static void nothing_twice(void **state)
{
	uint64_t all = 0, rows = 0;

	(void)state;
	srand(1);
	for (taddr pc = 1; pc < 200; pc++) {
		size_t definite = group(pc, VERDICT_DEFINITE, 1 + (unsigned)rand() % 50), indirect;

		if (rand() % 2)
			group(pc, VERDICT_REACHABLE, 1 + (unsigned)rand() % 20);
		if (rand() % 2)
			group(pc, VERDICT_POSSIBLE, 1 + (unsigned)rand() % 20);
		if (rand() % 2) {
			indirect = group(rand() % 2 ? pc : pc + 1000, VERDICT_INDIRECT, 30);
			hang(definite, indirect, 10);
			hang(0, indirect, 20);
		}
	}
	make();
	for (size_t i = 0; i < s.ngroups; i++)
		all += s.groups[i].bytes;
	for (size_t i = 0; i < b.view.ngroups; i++)
		if (summary_section(&b.view, &b.view.groups[i]) != SUMMARY_HELD)
			rows += summary_weight(&b.view.groups[i]);
	assert_int_equal(rows, all);
	assert_true(b.view.ngroups < s.ngroups);
}

/* A damaged trace, or one that was made: more hangs on a group than it has, and is lost with what is not lost. */
static void more_hangs_than_there_is(void **state)
{
	const struct summary_group *row;
	size_t definite, reachable, alone, unlost;

	(void)state;
	definite = group(1, VERDICT_DEFINITE, 8);
	reachable = group(1, VERDICT_REACHABLE, 500);
	alone = group(2, VERDICT_REACHABLE, 5);
	unlost = group(2, VERDICT_UNKNOWN, 6);
	hang(definite, reachable, 40000);
	hang(alone, unlost, 90);
	summary_sort(&s);
	assert_int_equal(by_stack_make(&s, &b), 0);
	for (size_t i = 0; i < b.view.ngroups; i++) {
		row = &b.view.groups[i];
		for (size_t k = 0; k < row->npoints; k++)
			assert_true(row->series[k].bytes <= 10 * (8 + 500 + 5 + 6));
	}
}

int main(void)
{
#define stack_test(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		stack_test(the_young_ones_belong_to_the_leak),
		stack_test(what_is_replaced_is_added_up),
		stack_test(a_row_of_a_sample),
		stack_test(a_row_that_grows_by_chance),
		stack_test(a_cache_is_a_row_of_its_own),
		stack_test(the_verdict_is_that_of_most),
		stack_test(a_list_of_one_stack),
		stack_test(a_part_of_the_same_stack),
		stack_test(hangs_of_merged_groups_are_added_up),
		stack_test(what_is_older_is_not_counted),
		stack_test(what_is_not_lost_yet_grows_too),
		stack_test(nothing_twice),
		stack_test(more_hangs_than_there_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * verdicts: from verdicts on blocks to the report: a group is one stack and one verdict, and shows what is
 * lost with it.
 */
#include "report/account.h"

#include <stdlib.h>
#include <string.h>

#include "report/csv/out_csv.h"
#include "report/folded/out_folded.h"
#include "report/json/out_json.h"
#include "report/suppress/suppress.h"
#include "report/text/out_text.h"
#include "tests/unit/ledger_facts.h"
#include "tests/unit/unwrapped.h"

static struct summary summary;
static struct groups_options options;

/* Stack i: function "f<i>", called from main. */
static void define_frames(void)
{
	static const char *const names[STACKS] = { "f0", "f1", "f2", "f3", "f4", "f5", "f6", "main" };

	define_family(0, "libc");
	for (uint32_t i = 0; i < STACKS; i++) {
		const struct fact_name name = { .function = names[i] };
		struct fact frame = info(MMT_FRAME), its = info(MMT_NAMES), node = info(MMT_NODE),
			    stack = info(MMT_STACK);

		frame.frame.number = i;
		frame.frame.pc = 0x1000 * (i + 1);
		take(&frame);
		its.names.frame = i;
		its.names.all = &name;
		its.names.n = 1;
		take(&its);
		node.node.number = i + 1;
		node.node.frame = i;
		take(&node);
		stack.stack.number = STACKS + i;
		stack.stack.node = i + 1;
		take(&stack);
	}
}

static int begin(void **state)
{
	setup(state);
	define_frames();
	options = (struct groups_options){ 0 };
	return 0;
}

static int end(void **state)
{
	summary_fini(&summary);
	return teardown(state);
}

static void look(uint64_t judged)
{
	static const struct fact_sum sums[VERDICT_COUNT] = {
		{ 0, 0 }, { 30, 3000 }, { 2, 200 }, { 0, 0 }, { 400, 40960 }
	};
	static const char *const doubts[] = { "12 KiB were swapped out" };
	const struct fact_verdicts its = {
		.number = 1, .known = true, .census = true, .allocator = "glibc 2.41", .judged = judged,
		.expected_ns = 10000000,
		.had_ns = 12000000, .bytes = 1 << 20, .threads = 3, .not_stopped = 1, .sums = sums,
		.nsums = VERDICT_COUNT,
		.doubts = doubts, .ndoubts = 1,
	};
	struct fact f = info(MMT_VERDICTS);

	f.look = &its;
	take(&f);
}

static void judged(enum verdict verdict, taddr addr, uint64_t blocks, uint64_t bytes)
{
	const struct fact_judged its = { addr, blocks, bytes };
	struct fact f = info(MMT_JUDGED);

	f.judged.verdict = verdict;
	f.judged.all = &its;
	f.judged.n = 1;
	take(&f);
}

/*
 * f1: two lost blocks, one of which points to what f2 allocated, and one that is reachable; f3: possibly
 * lost, young.
 */
static void run(uint64_t announced)
{
	uint32_t s = STACKS;

	alloc(A, 100, s + 1);
	alloc(A + 0x100, 50, s + 1);
	alloc(A + 0x200, 7, s + 1);
	alloc(B, 30, s + 2);
	alloc(B + 0x100, 40, s + 2);
	now = 10 * SECOND;
	alloc(B + 0x200, 1000, s + 3);
	look(announced);
	judged(VERDICT_DEFINITE, A, 2, 70);
	judged(VERDICT_DEFINITE, A + 0x100, 0, 0);
	judged(VERDICT_REACHABLE, A + 0x200, 0, 0);
	judged(VERDICT_INDIRECT, B, 1, A);
	judged(VERDICT_INDIRECT, B + 0x100, 1, A);
	judged(VERDICT_POSSIBLE, B + 0x200, 0, 0);
	now = 20 * SECOND;
	ledger_pass(&ledger, now);
	assert_int_equal(account_summary(&ledger, &options, &summary), 0);
}

static void assert_group(size_t i, const char *where, enum verdict verdict, uint64_t blocks, uint64_t bytes)
{
	const struct summary_group *g = &summary.groups[i];

	assert_true(i < summary.ngroups);
	assert_string_equal(g->stack.frames[0].function, where);
	assert_int_equal(g->verdict, verdict);
	assert_int_equal(g->blocks, blocks);
	assert_int_equal(g->bytes, bytes);
	assert_int_equal(g->bytes_direct, verdict == VERDICT_INDIRECT ? 0 : bytes);
}

static void one_stack_and_one_verdict(void **state)
{
	(void)state;
	run(6);
	assert_int_equal(summary.ngroups, 4);
	assert_group(0, "f1", VERDICT_DEFINITE, 2, 150);
	assert_group(1, "f3", VERDICT_POSSIBLE, 1, 1000);
	assert_group(2, "f1", VERDICT_REACHABLE, 1, 7);
	assert_group(3, "f2", VERDICT_INDIRECT, 2, 70);
	assert_true(summary.groups[3].held);
	assert_int_equal(summary.groups[0].nhangs, 1);
	assert_int_equal(summary_index(&summary, summary.groups[0].hangs[0].serial), 3);
	assert_int_equal(summary.groups[0].hangs[0].blocks, 2);
	assert_int_equal(summary.groups[0].hangs[0].bytes, 70);
	assert_int_equal(summary.groups[0].kind.indirect_blocks, 2);
	assert_int_equal(summary.groups[0].kind.indirect_bytes, 70);
	/* the calls are the stack's, the live blocks the group's own */
	assert_int_equal(summary.groups[0].allocs, 3);
	assert_int_equal(summary.groups[2].allocs, 3);
	assert_int_equal(summary.groups[0].series[summary.groups[0].npoints - 1].bytes, 150);
	assert_int_equal(summary.groups[2].series[summary.groups[2].npoints - 1].bytes, 7);
	assert_int_equal(summary.groups[0].split + summary.groups[2].split, 1);
	assert_int_equal(summary.run.verdicts.watched[VERDICT_DEFINITE].blocks, 2);
	assert_int_equal(summary.run.verdicts.watched[VERDICT_INDIRECT].bytes, 70);
	assert_int_equal(summary.run.verdicts.watched[VERDICT_UNKNOWN].blocks, 0);
	assert_int_equal(summary.run.verdicts.all[VERDICT_DEFINITE].bytes, 3000);
}

/*
 * One stack: a block a second is lost, as many are allocated and freed, one is possibly lost. Those that are
 * freed do not grow, one block is no growth, and the parts together had what the stack had.
 */
static void growth_belongs_to_each_part(void **state)
{
	uint64_t parts = 0;
	struct strbuf sb = STRBUF_INIT;

	(void)state;
	alloc(B + 0x100000, 500, STACKS + 1);
	for (uint64_t i = 0; i < 40; i++) {
		now = i * SECOND + SECOND / 2;
		alloc(A + i * 0x100, 100, STACKS + 1);
		alloc(A + 0x10000 + i * 0x100, 30, STACKS + 1);
		if (i >= 2)
			simple(MMT_FREE, A + 0x10000 + (i - 2) * 0x100);
	}
	look(43);
	for (uint64_t i = 0; i < 40; i++)
		judged(VERDICT_DEFINITE, A + i * 0x100, 0, 0);
	judged(VERDICT_REACHABLE, A + 0x10000 + 38 * 0x100, 0, 0);
	judged(VERDICT_REACHABLE, A + 0x10000 + 39 * 0x100, 0, 0);
	judged(VERDICT_POSSIBLE, B + 0x100000, 0, 0);
	now = 40 * SECOND;
	ledger_pass(&ledger, now);
	assert_int_equal(account_summary(&ledger, &options, &summary), 0);
	assert_int_equal(summary.ngroups, 3);
	assert_group(0, "f1", VERDICT_DEFINITE, 40, 4000);
	assert_int_equal(summary.groups[0].growth.shape, GROWTH_GROWS);
	assert_in_range((uint64_t)summary.groups[0].growth.bytes_per_minute, 5700, 6300);
	assert_group(1, "f1", VERDICT_POSSIBLE, 1, 500);
	assert_int_equal(summary.groups[1].growth.shape, GROWTH_ONCE);
	assert_group(2, "f1", VERDICT_REACHABLE, 2, 60);
	assert_int_equal(summary.groups[2].growth.shape, GROWTH_LEVEL);
	for (size_t i = 0; i < 3; i++)
		parts += summary.groups[i].series[20].bytes;
	assert_int_equal(summary.groups[0].npoints, summary.groups[2].npoints);
	assert_int_equal(parts, 500 + summary.groups[0].series[20].bytes + 60);
	assert_int_equal(out_text(&summary, 0, &sb), 0);
	assert_non_null(strstr(sb.s, "growing by 5"));
	strbuf_fini(&sb);
}

/*
 * One stack whose blocks live for ten seconds, 20 of them at a time: a fifth is possibly lost, the rest
 * reachable. The blocks at the end are young, in both parts, and neither part grows.
 */
static void what_comes_and_goes_does_not_grow(void **state)
{
	struct strbuf sb = STRBUF_INIT;

	(void)state;
	for (uint64_t i = 0; i < 80; i++) {
		now = i * SECOND / 2 + 1;
		alloc(A + i * 0x100, 100, STACKS + 1);
		if (i >= 20)
			simple(MMT_FREE, A + (i - 20) * 0x100);
	}
	look(20);
	for (uint64_t i = 60; i < 80; i++)
		judged(i % 5 ? VERDICT_REACHABLE : VERDICT_POSSIBLE, A + i * 0x100, 0, 0);
	now = 40 * SECOND;
	ledger_pass(&ledger, now);
	assert_int_equal(account_summary(&ledger, &options, &summary), 0);
	assert_int_equal(summary.ngroups, 2);
	assert_group(0, "f1", VERDICT_POSSIBLE, 4, 400);
	assert_group(1, "f1", VERDICT_REACHABLE, 16, 1600);
	for (size_t i = 0; i < 2; i++)
		assert_false(growth_rises(&summary.groups[i].growth));
	assert_int_equal(summary.groups[0].series[30].bytes + summary.groups[1].series[30].bytes, 2000);
	assert_int_equal(out_text(&summary, 0, &sb), 0);
	assert_non_null(strstr(sb.s, "not growing now"));
	strbuf_fini(&sb);
}

/*
 * A lost head of 16 bytes points to a list of 5000; 1000 bytes are lost elsewhere, and most memory is
 * reachable, and grows. The head is the first group, its list has no row, and the two groups refer to each
 * other.
 */
static void the_root_with_what_hangs_on_it_is_first(void **state)
{
	static const char *const lines[] = {
		"lost\n  [1]      5016 B    28%      101  definite",
		"f1 0x2000\n  [2]      1000 B",
		"\ngrowing\n  [3]    11.7 KiB",
		"    lost with them, and counted above: 5000 B in 100 blocks of other stacks\n      5000 B in 100 blocks: [4] f2 0x3000\n",
		"    lost with\n      5000 B in 100 blocks: [1] f1 0x2000\n",
	};
	struct strbuf sb = STRBUF_INIT;

	(void)state;
	alloc(B + 0x100000, 16, STACKS + 1);
	alloc(B + 0x100100, 1000, STACKS + 3);
	for (uint64_t i = 0; i < 100; i++)
		alloc(A + i * 0x100, 50, STACKS + 2);
	for (uint64_t i = 0; i < 40; i++) {
		now = i * SECOND + SECOND / 2;
		alloc(B + 0x200000 + i * 0x1000, 300, STACKS + 4);
	}
	look(142);
	judged(VERDICT_DEFINITE, B + 0x100000, 100, 5000);
	judged(VERDICT_DEFINITE, B + 0x100100, 0, 0);
	for (uint64_t i = 0; i < 100; i++)
		judged(VERDICT_INDIRECT, A + i * 0x100, 1, B + 0x100000);
	for (uint64_t i = 0; i < 40; i++)
		judged(VERDICT_REACHABLE, B + 0x200000 + i * 0x1000, 0, 0);
	now = 40 * SECOND;
	ledger_pass(&ledger, now);
	assert_int_equal(account_summary(&ledger, &options, &summary), 0);
	assert_group(0, "f1", VERDICT_DEFINITE, 1, 16);
	assert_group(1, "f3", VERDICT_DEFINITE, 1, 1000);
	assert_group(2, "f4", VERDICT_REACHABLE, 40, 12000);
	assert_group(3, "f2", VERDICT_INDIRECT, 100, 5000);
	assert_int_equal(out_text(&summary, 0, &sb), 0);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (!strstr(sb.s, lines[i]))
			fail_msg("%s is not in\n%s", lines[i], sb.s);
	assert_null(strstr(sb.s, "\n  [4]"));
	strbuf_reset(&sb);
	assert_int_equal(out_json(&summary, 0, &sb), 0);
	assert_non_null(
		strstr(sb.s, "\"indirect_groups\": [\n    {\"group\": 3, \"blocks\": 100, \"bytes\": 5000}]"));
	strbuf_fini(&sb);
}

/* Blocks that are too young are in no group, nor is what is lost with them. */
static void older_ones(void **state)
{
	(void)state;
	options.older_than_us = 15 * SECOND;
	run(6);
	assert_int_equal(summary.ngroups, 3);
	assert_int_equal(summary.groups[0].kind.indirect_blocks, 2);
	assert_int_equal(summary.run.verdicts.watched[VERDICT_POSSIBLE].blocks, 1);
}

static void nothing_of_a_part(void **state)
{
	struct strbuf sb = STRBUF_INIT;

	(void)state;
	run(7);
	assert_int_equal(summary.ngroups, 3);
	for (size_t i = 0; i < summary.ngroups; i++)
		assert_int_equal(summary.groups[i].verdict, VERDICT_UNKNOWN);
	assert_false(summary.run.verdicts.known);
	assert_int_equal(summary.groups[1].kind.indirect_blocks, 0);
	assert_int_equal(out_text(&summary, 0, &sb), 0);
	assert_non_null(strstr(sb.s, "  verdicts  none: the trace has only 6 of 7 of them: it was cut, or "
				     "damaged, or pieces are missing\n"));
	assert_null(strstr(sb.s, "lost with"));
	strbuf_fini(&sb);
}

static void in_words(void **state)
{
	static const char *const lines[] = {
		"definitely lost 150 B in 2 blocks; possibly lost 1000 B in 1 block; indirectly lost 70 B in 2 blocks; "
		"still reachable 7 B in 1 block\n",
		"            live  share   blocks  verdict   growth",
		"  [1]       220 B    18%        4  definite  ",
		"  verdicts  in a pause of 12ms (the estimate was 10ms), "
		"3 threads, 1 of them not stopped, 1.0 MiB copied\n",
		"  heap      layout of glibc 2.41; of 432 blocks, watched or not: definitely lost 3000 B in 30 "
		"blocks; possibly lost none; indirectly lost 200 B in 2 blocks; still reachable 40.0 KiB in 400 blocks\n",
		"  doubt     12 KiB were swapped out\n",
		"[1] 220 B (18%) in 4 blocks, 2 of them of other stacks, definitely lost, 20s to 20s old\n",
		"    3 allocated here, none of these freed, 2 definitely lost; in [3] 1 still reachable\n",
		"[3] 7 B (0.6%) in 1 block, still reachable, 20s old\n",
		"    3 allocated here, none of these freed, 1 still reachable; in [1] 2 definitely lost\n",
		"[4] 70 B (5.7%) in 2 blocks, indirectly lost, 20s to 20s old\n",
	};
	struct strbuf sb = STRBUF_INIT;

	(void)state;
	run(6);
	assert_int_equal(out_text(&summary, 0, &sb), 0);
	unwrap(sb.s);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (!strstr(sb.s, lines[i]))
			fail_msg("%s is not in\n%s", lines[i], strstr(sb.s, "doubt"));
	strbuf_fini(&sb);
}

static void for_programs(void **state)
{
	struct strbuf sb = STRBUF_INIT;

	(void)state;
	run(6);
	assert_int_equal(out_json(&summary, 0, &sb), 0);
	assert_non_null(strstr(sb.s, "\"verdicts\": {\"known\": true, \"why_not\": null, \"pause_s\": "
				     "0.012000, \"expected_s\": 0.010000, "
				     "\"threads\": 3, \"not_stopped\": 1, \"bytes_copied\": 1048576, "
				     "\"census\": true, \"allocator\": \"glibc 2.41\", "
				     "\"all\": {\"unknown\": {\"blocks\": 0, \"bytes\": 0}, \"definite\": "
				     "{\"blocks\": 30, \"bytes\": 3000}"));
	assert_non_null(strstr(sb.s, "\"doubts\": [\"12 KiB were swapped out\"]}"));
	assert_non_null(strstr(sb.s, "\"verdict\": \"definite\", \"split\": false, \"indirect_blocks\": 2, "
				     "\"indirect_bytes\": 70"));
	strbuf_reset(&sb);
	assert_int_equal(out_csv(&summary, 0, &sb), 0);
	assert_non_null(strstr(sb.s, "\"definite\""));
	assert_non_null(strstr(sb.s, ",\"definite\",2,70,"));
	strbuf_reset(&sb);
	assert_int_equal(out_folded(&summary, 0, &sb), 0);
	assert_string_equal(sb.s, "definitely lost;f1 150\nindirectly lost;f2 70\npossibly lost;f3 "
				  "1000\nstill reachable;f1 7\n");
	strbuf_fini(&sb);
}

/* Valgrind's kinds of leaks match our verdicts. */
static void suppressed_by_kind(void **state)
{
	static const char text[] =
		"{\nknown\nMemcheck:Leak\nmatch-leak-kinds: definite,indirect\nfun:f*\n}\n";
	struct suppressions *s = NULL;
	struct strbuf sb = STRBUF_INIT;
	char why[100];

	(void)state;
	assert_int_equal(suppressions_new(&s), 0);
	assert_int_equal(suppressions_parse(s, "x", text, sizeof(text) - 1, why, sizeof(why)), 0);
	options.suppressions = s;
	run(6);
	assert_int_equal(summary.ngroups, 2);
	assert_group(0, "f3", VERDICT_POSSIBLE, 1, 1000);
	assert_group(1, "f1", VERDICT_REACHABLE, 1, 7);
	assert_int_equal(summary.suppressed.blocks, 4);
	assert_false(summary.groups[1].split);
	suppressions_generate(summary.groups[0].stack.frames, 1, SUPPRESS_LEAK, VERDICT_POSSIBLE, 1, &sb);
	assert_non_null(strstr(sb.s, "   match-leak-kinds: possible\n"));
	strbuf_fini(&sb);
	suppressions_free(s);
}

/* Single blocks are found in the group of their verdict. */
static void single_blocks(void **state)
{
	const taddr addrs[] = { A + 0x200, A + 1 };
	const struct lookup_question q = { .entry = 1, .addrs = addrs, .naddrs = 2 };
	struct lookup lookup;

	(void)state;
	lookup_init(&lookup, &q);
	options.lookup = &lookup;
	run(6);
	assert_int_equal(lookup.nlist, 2);
	assert_int_equal(lookup.at[0].found[0].verdict, VERDICT_REACHABLE);
	assert_int_equal(lookup.at[0].found[0].entry, 3);
	assert_int_equal(lookup.at[1].found[0].verdict, VERDICT_DEFINITE);
	assert_int_equal(lookup.at[1].found[0].entry, 1);
	lookup_fini(&lookup);
}

int main(void)
{
#define verdict_test(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		verdict_test(one_stack_and_one_verdict),
		verdict_test(growth_belongs_to_each_part),
		verdict_test(what_comes_and_goes_does_not_grow),
		verdict_test(the_root_with_what_hangs_on_it_is_first),
		verdict_test(older_ones),
		verdict_test(nothing_of_a_part),
		verdict_test(in_words),
		verdict_test(for_programs),
		verdict_test(suppressed_by_kind),
		verdict_test(single_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

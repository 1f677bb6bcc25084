/* SPDX-License-Identifier: MIT */
/*
 * The report of a scan, in its three forms. With the argument "json" or "csv" it prints the example (with
 * "pointers" behind it: the one with answers), which tests/test_report_scan.py then reads.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/csv/out_csv.h"
#include "report/json/out_json.h"
#include "report/text/scan/out_scan_text.h"
#include "tests/unit/scan_example.h"
#include "tests/unit/unwrapped.h"

typedef int printer(const struct scan_report *r, size_t top, struct strbuf *sb);

static int print_example(printer *print, bool pointers)
{
	struct strbuf sb = STRBUF_INIT;
	struct scan_report r;
	int err;

	scan_example(&r);
	if (pointers)
		scan_example_pointers(&r);
	err = print(&r, 4, &sb);
	fputs(strbuf_str(&sb), stdout);
	strbuf_fini(&sb);
	scan_fini(&r);
	return err ? 1 : 0;
}

#include "tests/unit/scan_example_text.h"

static void prints(const struct scan_report *r, size_t top, const char *want)
{
	struct strbuf sb = STRBUF_INIT;

	assert_int_equal(out_scan_text(r, top, &sb), 0);
	if (want)
		assert_string_equal(strbuf_str(&sb), want);
	strbuf_fini(&sb);
}

static void has(const struct scan_report *r, const char *part)
{
	struct strbuf sb = STRBUF_INIT;

	assert_int_equal(out_scan_text(r, 0, &sb), 0);
	unwrap(sb.s);
	if (!strstr(sb.s, part))
		fail_msg("'%s' is not in:\n%s", part, sb.s);
	strbuf_fini(&sb);
}

static void the_whole_text(void **state)
{
	struct scan_report r;

	(void)state;
	setenv("TZ", "UTC", 1);
	scan_example(&r);
	prints(&r, 4, whole);
	scan_fini(&r);
}

/* What the library adds to a template is left out in the table, so that the part that matters is not cut. */
static void a_class_with_a_long_name(void **state)
{
	static const char class[] = "std::_Sp_counted_ptr_inplace<shop::OrderThatWasTakenBack, "
				    "std::allocator<shop::OrderThatWasTakenBack>, (__gnu_cxx::_Lock_policy)2>";
	taddr sample = 0x5000;
	struct scan_report r;

	(void)state;
	scan_init(&r);
	r.heap.known = r.summary.run.verdicts.known = true;
	summary_add_group(&r.summary, &(struct summary_group){
					      .family = "libc", .blocks = 1, .bytes = 56, .bytes_direct = 56,
					      .verdict = VERDICT_DEFINITE, .samples = &sample, .nsamples = 1,
					      .kind = { .label = class, .class_name = class,
							.size_low = 56, .size_high = 56 } });
	has(&r, "  std::_Sp_counted_ptr_inplace<OrderThatWasTakenBack>\n");
	has(&r, "    C++ class std::_Sp_counted_ptr_inplace<shop::OrderThatWasTakenBack, std::allocator<");
	scan_fini(&r);
}

/* One example, not the halves of two. */
static void a_text_of_many_examples(void **state)
{
	static const char text[] = "mostly text: \"rendered client-1 GET /10/107/32.png in 12 ms\", \"client-2 GET /\"";
	struct scan_report r;

	(void)state;
	scan_init(&r);
	r.heap.known = r.summary.run.verdicts.known = true;
	summary_add_group(&r.summary, &(struct summary_group){
					      .family = "libc", .blocks = 2, .bytes = 80, .bytes_direct = 80,
					      .verdict = VERDICT_REACHABLE,
					      .kind = { .label = "40 bytes", .content = text,
							.size_low = 40, .size_high = 40 } });
	has(&r, "  40 bytes: mostly text: \"rendered ");
	has(&r, " ms\", ...\n");
	scan_fini(&r);
}

static void who_points_where(void **state)
{
	struct scan_report r;

	(void)state;
	scan_example(&r);
	scan_example_pointers(&r);
	for (size_t i = 0; i < sizeof(pointed) / sizeof(pointed[0]); i++)
		has(&r, pointed[i]);
	has(&r, "\n0x1000 is in no block");
	r.answers[0].pointers[0].place = SCAN_IN_BLOCK;
	r.answers[0].pointers[0].block = r.answers[0].block;
	r.answers[0].pointers[0].at = r.answers[0].block.addr + 16;
	has(&r, "\n  the block itself +16  ");
	scan_fini(&r);
}

static void nothing_lost(void **state)
{
	struct scan_report r;

	(void)state;
	scan_init(&r);
	r.heap.known = true;
	r.heap.layout = "glibc 2.36";
	r.heap.listed = "glibc's malloc";
	r.heap.adds_up = true;
	r.summary.run.verdicts.known = true;
	r.summary.totals.live_blocks = 1;
	r.summary.totals.live_bytes = 24;
	has(&r, "the process has 1 block in use, 24 B, none of them lost\n");
	has(&r, "its own figures agree, those of blocks with a mapping of their own were not found\n");
	r.heap.mmapped_claimed = 0;
	has(&r, "its own figures agree\n");
	r.summary.run.verdicts.known = false;
	r.summary.run.verdicts.why_not = "--verdicts no";
	has(&r, "; which of them are lost is not known: --verdicts no\n");
	r.heap.known = false;
	r.heap.layout = "musl";
	r.summary.totals.live_blocks = 0;
	has(&r, "the process: its blocks cannot be listed: musl\n");
	r.memory.missing = 4096;
	has(&r, "the process: its blocks cannot be listed: musl\n");
	r.core = "cut.core";
	has(&r, "the process: its blocks cannot be listed: the core is not whole, 4096 B of memory are "
		"missing; in the rest, musl\n");
	r.core = NULL;
	r.memory.missing = 0;
	has(&r, "  allocator its blocks cannot be listed: musl\n");
	has(&r, "a watch works with any allocator: mmattach -p PID -d 2m, as long as the process lives\n");
	scan_fini(&r);
}

/* If glibc's heap is not the only one, the answer says so. */
static void another_allocator_beside(void **state)
{
	struct scan_report r;

	(void)state;
	scan_init(&r);
	r.summary.target.pid = 7;
	r.heap = (struct scan_heap){ .known = true, .layout = "glibc", .listed = "glibc's malloc",
				     .adds_up = true, .other = "jemalloc (x)" };
	has(&r, "only blocks of glibc's malloc are listed, none of jemalloc (x); a watch works with any "
		"allocator: mmattach -p 7 -d 2m\n");
	scan_fini(&r);
}

/* How many stacks of a trace are of the blocks that are there now. */
static void stacks_of_a_trace(void **state)
{
	struct scan_report r;

	(void)state;
	scan_init(&r);
	r.heap = (struct scan_heap){ .known = true, .layout = "glibc", .listed = "glibc's malloc",
				       .adds_up = true };
	r.summary.columns = 500;
	r.trace = (struct scan_trace){ .there = true, .timed = true, .seconds = 180, .live = 150, .same = 148,
				       .certain = 120, .resized = 2 };
	has(&r, "stacks are those of the watch, which ended 3m before this scan: 148 of its 150 live blocks "
		"have the same address and size now; 120 were lost then already, so they are the same; the "
		"other 28 may have been freed and allocated again since, by other code; 2 other blocks have "
		"the address of one, but another size: shown without that stack\n");
	r.trace = (struct scan_trace){ .there = true, .live = 2, .same = 1 };
	has(&r, "stacks are those of the watch, which ended a time that is not known before this scan: 1 of "
		"its 2 live blocks has the same address and size now; these may have been freed");
	r.trace = (struct scan_trace){ .there = true, .timed = true, .seconds = 1, .live = 2, .same = 2,
				       .certain = 2 };
	has(&r, "size now; all of them were lost then already, so they are the same\n");
	r.heap.known = false;
	r.summary.totals.live_blocks = 2;
	r.trace = (struct scan_trace){ .there = true, .instead = true, .timed = true, .seconds = 2 };
	has(&r, "these are only the blocks that were live when the watch ended, 2s before this scan: whether "
		"they are still allocated is not known, as the allocator's memory cannot be read\n");
	has(&r, " had 2 blocks in use at the end of the watch, ");
	scan_fini(&r);
}

/* Free memory is reported apart from lost memory, and the two kinds of free memory apart from each other. */
static void free_is_no_leak(void **state)
{
	struct scan_arena a = { .system_bytes = 100 << 20, .used = { 1, 10 << 20 }, .bins = { 9, 80 << 20 },
				.top_bytes = 10 << 20 };
	struct scan_report r;

	(void)state;
	scan_init(&r);
	r.heap.known = true;
	scan_add_arena(&r, &a);
	has(&r, "90% of what it has from the system is in no block: freed, most of it between blocks that are in "
		"use: fragmentation, not a leak\n");
	r.heap.arenas[0].bins.bytes = 10 << 20;
	r.heap.arenas[0].top_bytes = 80 << 20;
	has(&r, "not returned to the system yet: not a leak\n");
	r.heap.arenas[0].used.bytes = 95 << 20;
	r.heap.arenas[0].bins.bytes = r.heap.arenas[0].top_bytes = 1 << 20;
	prints(&r, 0, NULL);
	r.heap.foreign_bytes = 300 << 20;
	has(&r, "300 MiB         between its pieces, allocated by others");
	scan_fini(&r);
}

static void a_core_is_called_one(void **state)
{
	struct scan_report r;

	(void)state;
	scan_init(&r);
	r.core = "core.17";
	r.heap.known = true;
	r.memory.missing = 1 << 20;
	r.summary.run.verdicts.threads = 3;
	has(&r, "  core      core.17, written at a time not known, 3 threads\n");
	has(&r, "1.0 MiB MISSING: the core is not whole\n");
	has(&r, "the process had 0 blocks in use");
	scan_fini(&r);
}

/* Lost groups first, whatever their size, by all that is lost with them. */
static void order(void **state)
{
	struct scan_report r;

	(void)state;
	scan_init(&r);
	summary_add_group(&r.summary, &(struct summary_group){ .bytes = 900, .verdict = VERDICT_REACHABLE });
	summary_add_group(&r.summary, &(struct summary_group){ .bytes = 700, .verdict = VERDICT_INDIRECT });
	summary_add_group(&r.summary, &(struct summary_group){ .bytes = 500, .verdict = VERDICT_DEFINITE });
	summary_add_group(&r.summary, &(struct summary_group){ .bytes = 100, .verdict = VERDICT_DEFINITE,
							       .kind = { .indirect_bytes = 600 } });
	summary_add_group(&r.summary, &(struct summary_group){ .bytes = 800, .verdict = VERDICT_POSSIBLE });
	scan_sort(&r);
	assert_int_equal(r.summary.groups[0].bytes, 100);
	assert_int_equal(r.summary.groups[1].bytes, 500);
	assert_int_equal(r.summary.groups[2].verdict, VERDICT_POSSIBLE);
	assert_int_equal(r.summary.groups[3].verdict, VERDICT_INDIRECT);
	assert_int_equal(r.summary.groups[4].verdict, VERDICT_REACHABLE);
	scan_fini(&r);
}

static void a_scan_with_holes_is_not_printed(void **state)
{
	static printer *const all[] = { out_scan_text, out_scan_json, out_scan_csv };
	struct strbuf sb = STRBUF_INIT;
	struct scan_report r;

	(void)state;
	scan_init(&r);
	r.summary.err = -ENOMEM;
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(all[i](&r, 4, &sb), -ENOMEM);
	assert_int_equal(sb.len, 0);
	scan_fini(&r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_whole_text),
		cmocka_unit_test(a_class_with_a_long_name),
		cmocka_unit_test(a_text_of_many_examples),
		cmocka_unit_test(who_points_where),
		cmocka_unit_test(nothing_lost),
		cmocka_unit_test(another_allocator_beside),
		cmocka_unit_test(stacks_of_a_trace),
		cmocka_unit_test(free_is_no_leak),
		cmocka_unit_test(a_core_is_called_one),
		cmocka_unit_test(order),
		cmocka_unit_test(a_scan_with_holes_is_not_printed),
	};

	if (argc > 1)
		return print_example(!strcmp(argv[1], "json")  ? out_scan_json
				     : !strcmp(argv[1], "csv") ? out_scan_csv
							       : out_scan_text,
				     argc > 2);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

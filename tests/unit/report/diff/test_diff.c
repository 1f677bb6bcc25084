/* SPDX-License-Identifier: MIT */
/*
 * diff: which groups are the same in two builds, what changed and in which order, and the output in each
 * format.
 */
#include "report/diff/diff.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/csv/out_csv.h"
#include "report/folded/out_folded.h"
#include "report/json/out_json.h"
#include "report/text/out_diff_text.h"

#define HOSTILE "evil\x1b[2J\"\n\xff;,\1\2"

static void add_stack(struct summary *s, const struct summary_frame *stack, size_t n, uint64_t blocks,
		      uint64_t bytes)
{
	summary_add_group(s, &(struct summary_group){ .family = "libc", .blocks = blocks, .bytes = bytes,
						      .stack = { (struct summary_frame *)stack, n } });
	s->totals.live_blocks += blocks;
	s->totals.live_bytes += bytes;
}

static void add(struct summary *s, const char *function, uint64_t blocks, uint64_t bytes)
{
	struct summary_frame stack[] = {
		{ .pc = bytes, .module = "/usr/bin/svc", .offset = bytes, .function = function,
		  .file = "svc.c", .line = (int)bytes },
		{ .pc = 1, .module = "/usr/bin/svc", .offset = 1, .function = "main" },
	};

	add_stack(s, stack, 2, blocks, bytes);
}

static void start(struct summary *old, struct summary *new)
{
	summary_init(old);
	summary_init(new);
	summary_set_target(new, 12, "svc", "/usr/bin/svc");
	old->run.seconds = new->run.seconds = 10;
}

static void finish(struct summary *old, struct summary *new, struct diff *d)
{
	diff_fini(d);
	summary_fini(old);
	summary_fini(new);
}

static void example(struct summary *old, struct summary *new)
{
	start(old, new);
	add(old, "grew", 2, 2000);
	add(old, "went", 1, 30000);
	add(old, "same", 1, 100);
	add(old, "shrank", 5, 500);
	add(new, "same", 1, 100);
	add(new, "shrank", 4, 400);
	add(new, "grew", 20, 20000);
	add(new, "appeared", 1, 64);
	add(new, HOSTILE, 1, 32);
}

static void assert_group(const struct diff *d, size_t i, const char *function, enum diff_change change,
			 uint64_t before, uint64_t now)
{
	assert_true(i < d->ngroups);
	assert_string_equal(d->groups[i].group->stack.frames[0].function, function);
	assert_string_equal(diff_change_name(d->groups[i].change), diff_change_name(change));
	assert_int_equal(d->groups[i].old_bytes, before);
	assert_int_equal(d->groups[i].new_bytes, now);
}

static void grown_most_first(void **state)
{
	struct summary old, new;
	struct diff d;

	(void)state;
	example(&old, &new);
	assert_int_equal(diff_make(&old, &new, &d), 0);
	assert_int_equal(d.ngroups, 6);
	assert_group(&d, 0, "grew", DIFF_GREW, 2000, 20000);
	assert_group(&d, 1, "appeared", DIFF_APPEARED, 0, 64);
	assert_group(&d, 2, HOSTILE, DIFF_APPEARED, 0, 32);
	assert_group(&d, 3, "same", DIFF_SAME, 100, 100);
	assert_group(&d, 4, "shrank", DIFF_SHRANK, 500, 400);
	assert_group(&d, 5, "went", DIFF_WENT, 30000, 0);
	assert_ptr_equal(d.groups[0].group, &new.groups[2]);
	assert_ptr_equal(d.groups[5].group, &old.groups[1]);
	finish(&old, &new, &d);
}

/*
 * Another line of the same function, in a file that was moved; if there is no name, the offset must be the
 * same.
 */
static void two_builds(void **state)
{
	struct summary_frame before[] = {
		{ .pc = 1, .module = "/old/svc", .offset = 1, .function = "f", .line = 1 },
		{ .pc = 2, .module = "/old/libx.so", .offset = 0x20 },
		{ .pc = 3 }
	};
	struct summary_frame after[] = { { .pc = 10, .module = "/new/bin/svc", .offset = 10, .function = "f",
					   .line = 2, .inlined = true },
					 { .pc = 20, .module = "/new/libx.so", .offset = 0x20 },
					 { .pc = 30 } };
	struct summary old, new;
	struct diff d;

	(void)state;
	start(&old, &new);
	add_stack(&old, before, 3, 1, 10);
	add_stack(&old, before, 3, 1, 5);
	add_stack(&new, after, 3, 1, 15);
	after[1].offset = 0x21;
	add_stack(&new, after, 3, 1, 7);
	after[1].offset = 0x20;
	after[0].module = "/new/bin/other";
	add_stack(&new, after, 3, 1, 6);
	assert_int_equal(diff_make(&old, &new, &d), 0);
	assert_int_equal(d.ngroups, 3);
	assert_group(&d, 0, "f", DIFF_APPEARED, 0, 7);
	assert_group(&d, 1, "f", DIFF_APPEARED, 0, 6);
	assert_group(&d, 2, "f", DIFF_SHRANK, 15, 15);	/* by its blocks: two before, one now */
	finish(&old, &new, &d);
}

/* Code from a JIT compiler is the same function in whichever tier it was when a run ended. */
static void another_tier(void **state)
{
	struct summary_frame before[] = { { .pc = 1, .function = "JS:~work app.js:3:10" },
					  { .pc = 2, .module = "/usr/bin/node", .function = "a:*b" } };
	struct summary_frame after[] = { { .pc = 10, .function = "JS:*work app.js:3:10" },
					 { .pc = 2, .module = "/usr/bin/node", .function = "a:*b" } };
	struct summary old, new;
	struct diff d;

	(void)state;
	start(&old, &new);
	add_stack(&old, before, 2, 1, 10);
	add_stack(&new, after, 2, 1, 15);
	after[0].function = "JS:*work app.js:4:10";
	add_stack(&new, after, 2, 1, 7);
	after[0].function = "JS:*work app.js:3:10";
	after[1].function = "a:~b";
	add_stack(&new, after, 2, 1, 6);
	assert_int_equal(diff_make(&old, &new, &d), 0);
	assert_int_equal(d.ngroups, 3);
	assert_group(&d, 0, "JS:*work app.js:4:10", DIFF_APPEARED, 0, 7);
	assert_group(&d, 1, "JS:*work app.js:3:10", DIFF_APPEARED, 0, 6);
	assert_group(&d, 2, "JS:*work app.js:3:10", DIFF_GREW, 10, 15);
	finish(&old, &new, &d);
}

static void numbers_of_any_size(void **state)
{
	struct summary old, new;
	struct diff d;

	(void)state;
	start(&old, &new);
	add(&old, "a", 1, UINT64_MAX);
	add(&new, "b", 1, UINT64_MAX);
	add(&new, "c", 1, 1);
	assert_int_equal(diff_make(&old, &new, &d), 0);
	assert_group(&d, 0, "b", DIFF_APPEARED, 0, UINT64_MAX);
	assert_group(&d, 2, "a", DIFF_WENT, UINT64_MAX, 0);
	finish(&old, &new, &d);
}

#define EVIL "evil\\x1b[2J\"\\x0a\\xff;,\\x01\\x02"

static const char text[] =
	"svc: 20.1 KiB in 27 blocks are still live, 11.7 KiB less than before (31.8 KiB in 9 blocks)\n"
	"\n"
	"            change     before        now\n"
	"  [1]    +17.6 KiB     2000 B   19.5 KiB  grew     grew svc.c:20000\n"
	"  [2]        +64 B        0 B       64 B  appeared appeared svc.c:64\n"
	"  [3]        +32 B        0 B       32 B  appeared " EVIL " svc.c:32\n"
	"            -100 B      500 B      400 B  shrank   shrank svc.c:400\n"
	"         -29.3 KiB   29.3 KiB        0 B  went     went svc.c:30000\n"
	"\n"
	"[1] +17.6 KiB: 19.5 KiB in 20 blocks, before 2000 B in 2 blocks\n"
	"    #0 grew (svc+0x4e20) svc.c:20000\n"
	"    #1 main (svc+0x1)\n"
	"\n"
	"[2] +64 B: 64 B in 1 block, nothing before\n"
	"    #0 appeared (svc+0x40) svc.c:64\n"
	"    #1 main (svc+0x1)\n"
	"\n"
	"[3] +32 B: 32 B in 1 block, nothing before\n"
	"    #0 " EVIL " (svc+0x20) svc.c:32\n"
	"    #1 main (svc+0x1)\n";

static void assert_text(size_t top, const char *want, bool whole)
{
	struct strbuf sb = STRBUF_INIT;
	struct summary old, new;
	struct diff d;

	example(&old, &new);
	assert_int_equal(diff_make(&old, &new, &d), 0);
	assert_int_equal(out_diff_text(&d, top, &sb), 0);
	if (whole)
		assert_string_equal(strbuf_str(&sb), want);
	else if (!strstr(strbuf_str(&sb), want))
		fail_msg("\"%s\" is not in:\n%s", want, strbuf_str(&sb));
	strbuf_fini(&sb);
	finish(&old, &new, &d);
}

static void in_words(void **state)
{
	(void)state;
	assert_text(0, text, true);
	assert_text(6, text, true);
	assert_text(3,
		    "  and 1 more that grew or appeared, 1 that shrank or went (--top 0 shows all)\n\n[1] "
		    "+17.6 KiB",
		    false);
	assert_text(3, "appeared appeared svc.c:64\n         -29.3 KiB", false);
	assert_text(1, "grew svc.c:20000\n  and 2 more", false);
}

static void watches_of_different_length(void **state)
{
	struct strbuf sb = STRBUF_INIT;
	struct summary old, new;
	struct diff d;

	(void)state;
	start(&old, &new);
	new.run.seconds = 60;
	assert_int_equal(diff_make(&old, &new, &d), 0);
	assert_int_equal(out_diff_text(&d, 0, &sb), 0);
	assert_string_equal(
		strbuf_str(&sb),
		"svc: 0 B in 0 blocks are still live after 1m; before 0 B in 0 blocks after 10s\n"
		"the watches were not equally long: of a group that grows, the table has the live bytes per minute of\n"
		"watch. A group of which the longer watch had as much after 10s counts as the same\n");
	strbuf_fini(&sb);
	finish(&old, &new, &d);
}

static void add_at(struct summary *s, taddr bias)
{
	const struct summary_frame stack[] = { { .pc = bias + 8, .module = "/lib/libx.so", .offset = 8 } };

	add_stack(s, stack, 1, 1, 100);
}

static void start_same(struct summary *old, struct summary *new, taddr old_bias, taddr new_bias)
{
	start(old, new);
	summary_set_target(old, 12, "svc", "/usr/bin/svc");
	new->run.start_ns = 5;
	add_at(old, old_bias);
	add_at(new, new_bias);
}

/* Blocks that the first watch left live are not in the second: less does not mean freed. */
static void watches_of_one_process(void **state)
{
	struct strbuf sb = STRBUF_INIT;
	struct summary old, new;
	struct diff d;

	(void)state;
	start_same(&old, &new, 0x7f0000001000, 0x7f0000001000);
	old.run.verdicts.known = true;
	old.run.verdicts.watched[VERDICT_DEFINITE] = (struct summary_sum){ 3, 2048 };
	new.columns = 1000;
	assert_int_equal(diff_make(&old, &new, &d), 0);
	assert_true(d.same_process);
	assert_int_equal(out_diff_text(&d, 0, &sb), 0);
	assert_non_null(strstr(strbuf_str(&sb),
			       "\nboth are watches of process 12, and each knows only what was allocated "
			       "while it ran: what the first one left live is not counted in the second, so "
			       "that less, or \"went\", does not mean freed; how fast each group grew is in "
			       "the two reports\n"
			       "of the first watch's blocks 2048 B in 3 blocks were lost, and so are still "
			       "allocated beside those of the second\n"));
	strbuf_fini(&sb);
	assert_int_equal(out_diff_json(&d, 0, &sb), 0);
	assert_non_null(strstr(strbuf_str(&sb), "\"same_process\": true"));
	strbuf_fini(&sb);
	finish(&old, &new, &d);
}

/* In a container each process may have the same number: its modules are elsewhere. */
static void processes_of_one_number(void **state)
{
	struct strbuf sb = STRBUF_INIT;
	struct summary old, new;
	struct diff d;

	(void)state;
	start_same(&old, &new, 0x7f0000001000, 0x7f0000002000);
	assert_int_equal(diff_make(&old, &new, &d), 0);
	assert_false(d.same_process);
	assert_int_equal(out_diff_text(&d, 0, &sb), 0);
	assert_null(strstr(strbuf_str(&sb), "both are watches"));
	strbuf_fini(&sb);
	finish(&old, &new, &d);
}

/*
 * A leak at the same rate is the same leak in a longer watch; a group that has as much as before is the same
 * as well.
 */
static void rates_are_compared(void **state)
{
	struct strbuf sb = STRBUF_INIT;
	struct summary old, new;
	struct diff d;

	(void)state;
	start(&old, &new);
	new.run.seconds = 60;
	add(&old, "constant", 1000, 100000);
	add(&new, "constant", 6030, 603000);
	add(&old, "faster", 1000, 100000);
	add(&new, "faster", 12000, 1200000);
	add(&old, "slower", 1000, 100000);
	add(&new, "slower", 2000, 200000);
	add(&old, "few", 2, 200);
	add(&new, "few", 9, 900);
	add(&old, "cache", 10, 5000);
	add(&new, "cache", 10, 5000);
	old.groups[0].growth.shape = new.groups[0].growth.shape = GROWTH_GROWS;
	old.groups[0].growth.bytes_per_minute = new.groups[0].growth.bytes_per_minute = 614400;
	old.groups[4].growth.shape = new.groups[4].growth.shape = GROWTH_LEVEL;
	add(&new, "appeared", 1, 64);
	assert_int_equal(diff_make(&old, &new, &d), 0);
	assert_true(d.by_rate);
	assert_group(&d, 0, "faster", DIFF_GREW, 100000, 1200000);
	assert_group(&d, 1, "constant", DIFF_SAME, 100000, 603000);
	assert_group(&d, 2, "appeared", DIFF_APPEARED, 0, 64);
	assert_group(&d, 3, "cache", DIFF_SAME, 5000, 5000);
	assert_group(&d, 4, "few", DIFF_SAME, 200, 900);
	assert_group(&d, 5, "slower", DIFF_SHRANK, 100000, 200000);
	assert_int_equal(out_diff_text(&d, 0, &sb), 0);
	assert_non_null(strstr(
		strbuf_str(&sb),
		"after 10s counts as the same\n"
		"\n"
		"                change         before            now\n"
		"  [1]     +586 KiB/min    586 KiB/min    1.1 MiB/min  grew     faster svc.c:1200000\n"));
	/* a leak that goes on as before, with the growth that each report has */
	assert_non_null(strstr(strbuf_str(&sb), "\n  [3]                     600 KiB/min    600 KiB/min  goes on  constant "));
	finish(&old, &new, &d);
	strbuf_fini(&sb);
}

/*
 * A cache that fills in 10 s, and is replaced from then on: in a watch of 10 s it has a higher rate than in one
 * of 60 s, which had as much at that time. A leak that was faster in the shorter watch grew.
 */
static void what_fills_up_is_compared_at_equal_times(void **state)
{
	static struct growth_point filled[] = { { 5, 50000, 0 }, { 10, 100000, 0 }, { 60, 120000, 0 } };
	static struct growth_point leaked[] = { { 5, 10000, 0 }, { 10, 20000, 0 }, { 60, 120000, 0 } };
	static struct growth_point short_run[] = { { 5, 50000, 0 }, { 10, 100000, 0 } };
	struct summary old, new;
	struct diff d;

	(void)state;
	for (int swapped = 0; swapped < 2; swapped++) {
		struct summary *longer = swapped ? &new : &old, *shorter = swapped ? &old : &new;

		start(&old, &new);
		longer->run.seconds = 60;
		add(longer, "cache", 1000, 120000);
		longer->groups[0].series = filled;
		add(longer, "leak", 1000, 120000);
		longer->groups[1].series = leaked;
		add(shorter, "cache", 1000, 100000);
		add(shorter, "leak", 1000, 100000);
		longer->groups[0].npoints = longer->groups[1].npoints = 3;
		shorter->groups[0].series = shorter->groups[1].series = short_run;
		shorter->groups[0].npoints = shorter->groups[1].npoints = 2;
		assert_int_equal(diff_make(&old, &new, &d), 0);
		for (size_t i = 0; i < 2; i++) {
			bool cache = !strcmp(d.groups[i].group->stack.frames[0].function, "cache");

			assert_int_equal(d.groups[i].change, cache ? DIFF_SAME : swapped ? DIFF_SHRANK : DIFF_GREW);
		}
		for (size_t i = 0; i < 2; i++)
			longer->groups[i].series = shorter->groups[i].series = NULL;
		finish(&old, &new, &d);
	}
}

/*
 * A busy machine makes one watch longer than the other: by a sixth, so that a sixth more leaks. But a
 * difference of a moment does not count.
 */
static void watches_of_nearly_the_same_length(void **state)
{
	static const struct {
		double seconds;
		enum diff_change change;
		bool by_rate;
	} cases[] = { { 10.02, DIFF_GREW, false },
		      { 10.2, DIFF_GREW, false },
		      { 10.5, DIFF_SAME, true },
		      { 11.6, DIFF_SAME, true } };
	struct summary old, new;
	struct diff d;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		start(&old, &new);
		new.run.seconds = cases[i].seconds;
		add(&old, "constant", 1000, 100000);
		add(&new, "constant", 1160, 116000);
		if (cases[i].by_rate)
			new.groups[0].bytes = (uint64_t)(10000 * cases[i].seconds);
		assert_int_equal(diff_make(&old, &new, &d), 0);
		assert_int_equal(d.by_rate, cases[i].by_rate);
		assert_int_equal(d.groups[0].change, cases[i].change);
		finish(&old, &new, &d);
	}
	start(&old, &new);
	old.run.seconds = 1;
	new.run.seconds = 1.5;
	assert_int_equal(diff_make(&old, &new, &d), 0);
	assert_true(d.by_rate);
	finish(&old, &new, &d);
	start(&old, &new);
	old.run.seconds = 0.4;
	new.run.seconds = 0.9;
	assert_int_equal(diff_make(&old, &new, &d), 0);
	assert_false(d.by_rate);
	finish(&old, &new, &d);
}

static void for_programs(void **state)
{
	struct strbuf sb = STRBUF_INIT;
	struct summary old, new;
	struct diff d;

	(void)state;
	example(&old, &new);
	assert_int_equal(diff_make(&old, &new, &d), 0);
	assert_int_equal(out_diff_json(&d, 0, &sb), 0);
	assert_non_null(
		strstr(strbuf_str(&sb),
		       "\n\"new\": {\"pid\": 12, \"comm\": \"svc\", \"start\": \"1970-01-01T00:00:00.000Z\", "
		       "\"seconds\": 10.000000, \"live_blocks\": 27, \"live_bytes\": 20596},\n"));
	assert_non_null(strstr(strbuf_str(&sb), "\n  {\"change\": \"grew\", \"family\": \"libc\", \"tag\": "
						"null, \"old_blocks\": 2, \"old_bytes\": 2000, "
						"\"new_blocks\": 20, \"new_bytes\": 20000, \"number\": 1, \"name\": \"grew svc.c:20000\", \"wrappers\": 0, "
						"\"stack_end\": \"whole\", \"stack\": [\n"));
	assert_non_null(strstr(strbuf_str(&sb),
			       "\"function\": \"evil\\u001b[2J\\\"\\n\xef\xbf\xbd;,\\u0001\\u0002\""));
	strbuf_reset(&sb);
	assert_int_equal(out_diff_csv(&d, 0, &sb), 0);
	assert_non_null(strstr(strbuf_str(&sb), "\r\n\"went\",\"libc\",\"\",1,30000,0,0,,\"went svc.c:30000\",\"went\",\"svc.c\",30000,"
						"\"/usr/bin/svc\",\"0x7530\",\"went < main\",\"unknown\",\"false\","));
	strbuf_reset(&sb);
	assert_int_equal(out_diff_folded(&d, 0, &sb), 0);
	assert_string_equal(
		strbuf_str(&sb),
		"main;appeared 0 64\nmain;evil\\x1b[2J\"\\x0a\\xff:,\\x01\\x02 0 32\nmain;grew 2000 20000\n"
		"main;same 100 100\nmain;shrank 500 400\nmain;went 30000 0\n");
	strbuf_fini(&sb);
	finish(&old, &new, &d);
}

/* --- objects with references --- */

static struct summary_frame places[] = {
	{ .pc = 1, .module = "/old/svc", .offset = 1, .function = "birth" },
	{ .pc = 2, .module = "/old/svc", .offset = 2, .function = "leak" },
	{ .pc = 3, .module = "/old/svc", .offset = 3, .function = "drop" },
};

/*
 * Acquired at two call sites, one of which is more suspect in each summary; released at a third if @dropped.
 */
static void add_objects(struct summary *s, int64_t net, uint64_t objects, bool turn, bool dropped)
{
	struct summary_use taken[] = {
		{ .count = 1, .acquired_in_all = turn ? 1 : 9, .outstanding = 1, .stack = { &places[0], 1 } },
		{ .count = 1, .acquired_in_all = turn ? 9 : 1, .outstanding = 1, .stack = { &places[1], 1 } },
	};
	struct summary_use drop = { .count = 1, .stack = { &places[2], 1 } };

	summary_sort_uses(taken, 2);
	summary_add_refs(s, &(struct summary_refs){ .family = "dict", .objects = objects, .net = net,
						    .acquired = taken, .nacquired = 2, .released = &drop,
						    .nreleased = dropped });
}

static void start_refs(struct summary *old, struct summary *new)
{
	start(old, new);
	summary_add_family(old, &(struct summary_family){ .name = "dict", .refs = true, .live = 509 });
	summary_add_family(new, &(struct summary_family){ .name = "dict", .refs = true, .live = 536 });
	add_objects(old, 1, 500, false, true);
	add_objects(old, 2, 9, false, true);
	add_objects(new, 1, 529, true, true);
	add_objects(new, 1, 7, false, false);
	add_objects(new, -1, 7, false, false);
}

static void objects_of_the_same_places(void **state)
{
	struct summary old, new;
	struct diff d;

	(void)state;
	start_refs(&old, &new);
	assert_int_equal(diff_make(&old, &new, &d), 0);
	assert_int_equal(d.nrefs, 3);
	assert_int_equal(d.refs[0].change, DIFF_GREW);
	assert_int_equal(d.refs[0].old_objects, 509);
	assert_int_equal(d.refs[0].new_objects, 529);
	assert_ptr_equal(d.refs[0].refs, &new.refs[0]);
	assert_int_equal(d.refs[1].change, DIFF_APPEARED);
	assert_int_equal(d.refs[2].change, DIFF_APPEARED);
	finish(&old, &new, &d);
}

static void objects_in_words(void **state)
{
	struct strbuf sb = STRBUF_INIT;
	struct summary old, new;
	struct diff d;

	(void)state;
	start_refs(&old, &new);
	assert_int_equal(diff_make(&old, &new, &d), 0);
	assert_int_equal(out_diff_text(&d, 1, &sb), 0);
	assert_string_equal(strbuf_str(&sb), "svc: 536 dict objects, 27 more than before (509)\n"
					     "\n"
					     "objects with references\n"
					     "            change     before        now\n"
					     "  [1]          +20        509        529  grew     dict: birth "
					     "svc+0x1\n"
					     "  and 2 more (--top 0 shows all)\n"
					     "\n"
					     "[1] +20: 529 dict objects, before 509; the most suspect call "
					     "site that acquired references:\n"
					     "    #0 birth (svc+0x1)\n");
	strbuf_reset(&sb);
	assert_int_equal(out_diff_json(&d, 0, &sb), 0);
	assert_non_null(strstr(strbuf_str(&sb),
			       "\"ref_changes\": [\n  {\"change\": \"grew\", \"family\": \"dict\", "
			       "\"old_objects\": 509, \"new_objects\": 529, \"number\": 1, \"name\": \"birth svc+0x1\", \"wrappers\": 0, "));
	strbuf_reset(&sb);
	assert_int_equal(out_diff_csv(&d, 0, &sb), 0);
	assert_non_null(strstr(strbuf_str(&sb), "\r\n\"grew\",\"dict\",,,,,,1,\"birth svc+0x1\",\"birth\",\"\",0,\"/old/"
						"svc\",\"0x1\",\"birth\",,,,,509,529\r\n"));
	strbuf_reset(&sb);
	assert_int_equal(out_diff_folded(&d, 0, &sb), 0);
	assert_string_equal(strbuf_str(&sb), "birth 509 529\nleak 0 14\n");
	strbuf_fini(&sb);
	finish(&old, &new, &d);
}

static void a_summary_with_holes_is_not_printed(void **state)
{
	struct strbuf sb = STRBUF_INIT;
	struct summary old, new;
	struct diff d;

	(void)state;
	example(&old, &new);
	old.err = -ENOMEM;
	assert_int_equal(diff_make(&old, &new, &d), 0);
	assert_int_equal(out_diff_text(&d, 0, &sb), -ENOMEM);
	assert_int_equal(out_diff_json(&d, 0, &sb), -ENOMEM);
	assert_int_equal(out_diff_csv(&d, 0, &sb), -ENOMEM);
	assert_int_equal(out_diff_folded(&d, 0, &sb), -ENOMEM);
	assert_int_equal(sb.len, 0);
	finish(&old, &new, &d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grown_most_first),
		cmocka_unit_test(two_builds),
		cmocka_unit_test(another_tier),
		cmocka_unit_test(numbers_of_any_size),
		cmocka_unit_test(in_words),
		cmocka_unit_test(watches_of_different_length),
		cmocka_unit_test(watches_of_one_process),
		cmocka_unit_test(processes_of_one_number),
		cmocka_unit_test(rates_are_compared),
		cmocka_unit_test(what_fills_up_is_compared_at_equal_times),
		cmocka_unit_test(watches_of_nearly_the_same_length),
		cmocka_unit_test(for_programs),
		cmocka_unit_test(objects_of_the_same_places),
		cmocka_unit_test(objects_in_words),
		cmocka_unit_test(a_summary_with_holes_is_not_printed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

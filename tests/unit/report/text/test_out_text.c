/* SPDX-License-Identifier: MIT */
/*
 * out_text: the report of a known run, line by line; what is shown of many groups; what is printed if there
 * is nothing.
 */
#include "report/text/out_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/report_example.h"
#include "tests/unit/unwrapped.h"

#define EVIL "evil\\x1b[2J\"\\\\x0a\\xff\xc3\xbc;,"

static const char whole[] =
	"svc (1234): 79 blocks, 1.1 MiB, of 700 allocations in 10s are still allocated; what is shown grows by 384 "
	"KiB/min; 5 DOUBLE FREEs\n"
	"incomplete: 8 events were lost, 1 gap of 3.5s in the watch; see the end of this report\n"
	"watched for 10s: what is meant to live longer (caches, sessions) looks like a leak; "
	"watch for longer\n"
	"\n"
	"             live  share   blocks  growth                  allocated by\n"
	"lost\n"
	"  [1]     1.0 MiB    94%        2  levelled off 5s ago     keep<int> svc.cc:44\n"
	"\n"
	"growing, or perhaps growing\n"
	"  [2]    64.0 KiB   5.9%       64  +384 KiB/min            session_open session.cc:120\n"
	"  [3]        24 B  <0.1%        1  too short to say        (no stack)\n"
	"\n"
	"DOUBLE FREE of 0x55558000, 4.5s after the start, the first of 3 in the same way\n"
	"  freed again by\n"
	"    #0 main (svc+0x2222) svc.cc:7\n"
	"  allocated by\n"
	"    #0 main (svc+0x2222) svc.cc:7\n"
	"    ... the stack goes on: the caller is not known\n"
	"\n"
	"DOUBLE FREE of 0x55558100, 6s after the start\n"
	"  the first free is not known: --free-stacks records it\n"
	"\n"
	"1 more DOUBLE FREE, of which nothing else is known\n"
	"\n"
	"[1] 1.0 MiB (94%) in 2 blocks, definitely lost, 1.2s to 9s old\n"
	"    levelled off 5s ago                     |%@@@|\n"
	"    599 allocated here, 597 freed (a watch with --free-stacks shows by which code)\n"
	"    #0 keep<int> (svc+0x1234, inlined) svc.cc:44\n"
	"    #1 " EVIL " (svc+0x1234) " EVIL ":92\n"
	"    #2 0x7f0000000001\n"
	"    ... the stack goes on: more of it was not copied (--stack-bytes)\n"
	"\n"
	"[2] 64.0 KiB (5.9%) in 64 blocks, 100ms to 8.5s old\n"
	"    grows by 384 KiB/min                    | -++*@|\n"
	"    65 allocated here, 1 freed\n"
	"    (through std::allocator<int>::allocate(unsigned long), operator new)\n"
	"    #0 session_open (svc+0x3333) /src/svc/session.cc:120\n"
	"    #1 main (svc+0x2222) svc.cc:7\n"
	"\n"
	"[3] 24 B (<0.1%) in 1 block, 9.5s old\n"
	"    too short to say whether it grows\n"
	"    1 allocated here, not freed\n"
	"    (no stack)\n"
	"\n"
	"suppressions used\n"
	"     groups     blocks      bytes\n"
	"          1          5      500 B  " EVIL " (known.supp:3)\n"
	"\n"
	"  command   svc " EVIL "\n"
	"  watched   10s from 2026-01-01 00:00:00 +0000, exact, by ptrace\n"
	"  events    1000 (100/s), LOST 7 (ring full), 1 (no memory), 1 stack cut short, 2 stacks not\n"
	"            followed to the end\n"
	"  stopped   500ms, all threads together\n"
	"  calls     700 allocations, 621 frees, 3 of blocks older than the watch, 5 DOUBLE FREEs\n"
	"                    600 hits  alloc malloc  in libc.so.6\n"
	"                      0 hits  free my_free  NOT WATCHED: no such function in the target\n"
	"                      0 hits  free free  in libc.so.6  NOT WATCHED: bytes differ\n"
	"  hidden    500 B in 5 blocks of 1 group, by suppressions\n"
	"  hidden    700 B in 7 blocks of 2 groups, by options\n"
	"  GAP       nothing was seen for 3.5s from 2s on: mmattach was stopped\n"
	"  note      the keeper was killed by " EVIL "\n";

static char *print(const struct summary *s, size_t top)
{
	struct strbuf sb = STRBUF_INIT;

	assert_int_equal(out_text(s, top, &sb), 0);
	return strbuf_steal(&sb);
}

static void assert_says(const struct summary *s, const char *what)
{
	char *text = print(s, 0);

	unwrap(text);
	if (!strstr(text, what))
		fail_msg("\"%s\" is not in:\n%s", what, text);
	free(text);
}

static void assert_says_not(const struct summary *s, const char *what)
{
	char *text = print(s, 0);

	unwrap(text);
	if (strstr(text, what))
		fail_msg("\"%s\" is in:\n%s", what, text);
	free(text);
}

static void line_by_line(void **state)
{
	struct summary s;
	char *text;

	(void)state;
	report_example(&s);
	text = print(&s, 0);
	assert_string_equal(text, whole);
	free(text);
	text = print(&s, 3);
	assert_string_equal(text, whole);
	free(text);
	summary_fini(&s);
}

static void without_times(void **state)
{
	struct summary s;
	char *text;

	(void)state;
	report_example(&s);
	s.run.seconds = 0;
	s.run.start_ns = 0;
	text = print(&s, 0);
	assert_non_null(strstr(text, "of 700 allocations are still allocated; 5 DOUBLE FREEs\n"));
	assert_non_null(strstr(text, "\nlost\n  [1]     1.0 MiB    94%        2  keep<int> svc.cc:44\n"));
	assert_non_null(strstr(text, "  watched   for a time not known, exact, by ptrace\n"));
	assert_null(strstr(text, "grow"));
	assert_null(strstr(text, " old\n"));
	assert_null(strstr(text, "1970"));
	free(text);
	summary_fini(&s);
}

/* Group i has (100 - i) KiB; its function is named after its shape and number. */
static void add_groups(struct summary *s, enum growth_shape shape, size_t from, size_t n)
{
	for (size_t i = from; i < from + n; i++) {
		char name[64];
		struct summary_frame frame = { .pc = i + 1, .function = name, .file = "a.c", .line = (int)i };

		snprintf(name, sizeof(name), "%s_%zu", growth_name(shape), i);
		summary_add_group(s, &(struct summary_group){ .blocks = 1, .bytes = (100 - i) * 1024,
							      .allocs = 1, .stack = { &frame, 1 },
							      .growth = { shape, 1000.0 * (double)i, 3 } });
		s->totals.live_blocks++;
		s->totals.live_bytes += (100 - i) * 1024;
	}
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (const char *p = text; (p = strstr(p, what)); p++)
		n++;
	return n;
}

/*
 * Groups that do not grow have their rows even if more groups grow; the fastest is first; each group in the
 * table has its details, too.
 */
static void of_many_the_table_shows_ten(void **state)
{
	struct summary s;
	char *text;

	(void)state;
	summary_init(&s);
	s.run.seconds = 60;
	add_groups(&s, GROWTH_LEVEL, 0, 20);
	add_groups(&s, GROWTH_GROWS, 20, 20);
	summary_sort(&s);
	text = print(&s, 12);
	assert_non_null(strstr(
		text,
		"\ngrowing\n  [1]    61.0 KiB   1.9%        1  +38.1 KiB/min           grows_39 a.c:39\n"));
	assert_non_null(strstr(text, "grows_33 a.c:33\n  and 13 more: 962 KiB in 13 blocks\n"));
	assert_non_null(strstr(text, "\nlive, but not growing\n  [21]    100 KiB   3.1%        1  levelled "
				     "off 57s ago    level_0 a.c\n"));
	assert_non_null(strstr(text, "level_2 a.c:2\n  and 17 more: 1.5 MiB in 17 blocks\n"));
	assert_int_equal(count(text, "#0 grows_"), 9);
	assert_int_equal(count(text, "#0 level_"), 3);
	assert_non_null(strstr(text, "\n28 more groups with "));
	free(text);
	text = print(&s, 1);
	assert_int_equal(count(text, "#0 "), 1);
	assert_int_equal(count(text, "#0 grows_39"), 1);
	free(text);
	text = print(&s, 0);
	assert_int_equal(count(text, "#0 "), 40);
	assert_null(strstr(text, "not shown"));
	free(text);
	summary_fini(&s);
}

/* Each shape has its own words, so that a full cache is not mistaken for a leak. */
static void shapes_read_differently(void **state)
{
	static const struct { enum growth_shape shape; const char *answer, *cell, *line;
	} wants[] = {
		{ GROWTH_GROWS, "growing by 977 KiB/min\n", "  +977 KiB/min  ",
		  "\n    grows by 977 KiB/min\n" },
		{ GROWTH_SLOWS, "growing by 977 KiB/min\n", "  +977 KiB/min now       ",
		  "\n    still grows, by 977 KiB/min now; it was faster before\n" },
		{ GROWTH_LEVEL, "not growing now\n", "  levelled off 57s ago  ",
		  "\n    levelled off 57s ago\n" },
		{ GROWTH_ONCE, "not growing now\n", "  allocated 57s ago  ",
		  "\n    allocated 57s ago, hardly any since\n" },
		{ GROWTH_FALLS, "not growing now\n", "  rose and fell  ", "\n    rose and fell\n" },
		{ GROWTH_UNKNOWN, "; too short to say whether it grows\n", "  too short to say  ",
		  "\n    too short to say whether it grows\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wants) / sizeof(wants[0]); i++) {
		struct summary s;

		summary_init(&s);
		s.run.seconds = 60;
		add_groups(&s, wants[i].shape, 0, 1);
		s.groups[0].growth.bytes_per_minute = 1e6;
		assert_says(&s, wants[i].answer);
		assert_says(&s, wants[i].cell);
		assert_says(&s, wants[i].line);
		summary_fini(&s);
	}
}

/* What came for older blocks, and how many of these had no known size: in the sentence that says how it grows. */
static void growth_is_net(void **state)
{
	struct summary s;

	(void)state;
	summary_init(&s);
	s.run.seconds = 60;
	add_groups(&s, GROWTH_GROWS, 0, 1);
	s.groups[0].growth.bytes_per_minute = 1 << 20;
	s.groups[0].growth.replaced_per_minute = 3 << 20;
	s.totals.live_blocks = 100;
	s.totals.unmatched_frees = s.totals.older_blocks = 500;
	s.totals.older_bytes = 5 << 20;
	assert_says(&s, "growing by 1.0 MiB/min net: 4.0 MiB/min allocated, 3.0 MiB/min of older blocks freed\n");
	assert_says(&s, "\n    grows by 1.0 MiB/min, besides 3.0 MiB/min that replaces older blocks\n");
	assert_says(&s, ", 500 of blocks older than the watch (5.0 MiB)\n");
	s.totals.unmatched_frees += 10;
	assert_says(&s, " of older blocks freed\n");
	s.totals.unmatched_frees++;
	assert_says(&s, " of older blocks freed; 11 older blocks of unknown size were freed, which may be replaced by "
			"these\n");
	assert_says(&s, ", 511 of blocks older than the watch (5.0 MiB, and 11 of unknown size)\n");
	s.groups[0].growth = (struct growth){ GROWTH_LEVEL, 0, 3, 3 << 20, true };
	assert_says(&s, "not growing now: 3.0 MiB/min allocated, as much of older blocks freed\n");
	/* without verdicts it may be a leak beside older blocks that went */
	assert_says(&s, "perhaps growing\n");
	assert_says(&s, "  may replace older  ");
	s.run.verdicts.known = true;
	assert_says(&s, "  replaces older  ");
	assert_says(&s, "\n    does not grow: 3.0 MiB/min replaces older blocks\n");
	summary_fini(&s);
}

static void long_names_are_cut_in_the_table_only(void **state)
{
	static char name[3000], file[300];
	struct summary_frame frame = { .pc = 1, .function = name, .file = file, .line = 123456 };
	struct summary s;
	char *text, *row;

	(void)state;
	for (size_t i = 0; i + 2 < sizeof(name); i += 2)
		memcpy(name + i, "\xc3\xbc", 2);
	memset(file, 'f', sizeof(file) - 1);
	summary_init(&s);
	s.run.seconds = 60;
	summary_add_group(&s, &(struct summary_group){
				      .blocks = UINT64_MAX, .bytes = UINT64_MAX, .stack = { &frame, 1 } });
	text = print(&s, 0);
	row = strstr(text, "  [1] ");
	assert_non_null(row);
	row[strcspn(row, "\n")] = '\0';
	assert_non_null(strstr(row, "\xc3\xbc...\xc3\xbc"));
	assert_non_null(strstr(row, "\xc3\xbc:123456"));
	assert_non_null(strstr(row + strlen(row) + 1, name));
	assert_true(count(row, "\xc3\xbc") < 72);
	free(text);
	summary_fini(&s);
}

/* Of two rows of the same function: as long as there is room, both names are whole. */
static void names_are_whole_where_there_is_room(void **state)
{
	struct summary_frame one[] = { { .pc = 1, .function = "mosquitto_strdup" }, { .pc = 2, .function = "db__message_store" } },
			     other[] = { { .pc = 1, .function = "mosquitto_strdup" }, { .pc = 3, .function = "db__message_insert" } };
	struct summary s;

	(void)state;
	summary_init(&s);
	s.run.seconds = 60;
	s.run.verdicts.known = true;
	summary_add_group(&s, &(struct summary_group){ .blocks = 1, .bytes = 2, .stack = { one, 2 }, .verdict = VERDICT_DEFINITE });
	summary_add_group(&s, &(struct summary_group){ .blocks = 1, .bytes = 1, .stack = { other, 2 }, .verdict = VERDICT_DEFINITE });
	assert_says(&s, " mosquitto_strdup from db__message_store ");
	assert_says(&s, " mosquitto_strdup from db__message_insert ");
	summary_fini(&s);
}

/* Of a function without a source line: its name, and behind it the module and offset, as there is room. */
static void a_name_goes_before_an_offset(void **state)
{
	struct summary_frame frame = { .pc = 1, .function = "inode_table_prune_all",
				       .module = "/lib/libglusterfs.so.0", .offset = 0x35143 };
	struct summary s;

	(void)state;
	summary_init(&s);
	s.run.seconds = 60;
	summary_add_group(&s, &(struct summary_group){ .blocks = 1, .bytes = 1, .stack = { &frame, 1 },
						       .tag = "gf_common_mt_inode_ctx",
						       .growth = { GROWTH_FALLS, 0, 0 } });
	assert_says(&s, "  rose and fell           inode_table_prune_all libglusterfs.so.0+0x35143 <gf_common_mt_inode_ctx>\n");
	assert_says(&s, "\n    rose and fell\n");
	s.groups[0].stack.frames[0].function = NULL;
	assert_says(&s, "  rose and fell           libglusterfs.so.0+0x35143 <gf_common_mt_inode_ctx>\n");
	s.groups[0].stack.frames[0].function = "get";
	s.groups[0].tag = NULL;
	assert_says(&s, "  rose and fell           get libglusterfs.so.0+0x35143\n");
	summary_fini(&s);
}

/* What is lost of a stack has not grown lately, but what else it has does: it may be lost, too, and not found yet. */
static void the_leak_goes_on_in_another_row(void **state)
{
	struct summary_frame frame = { .pc = 1, .function = "job_new" };
	struct summary_group lost = { .blocks = 40, .bytes = 4000, .allocs = 90, .frees = 10, .stack = { &frame, 1 },
				      .verdict = VERDICT_DEFINITE, .growth = { GROWTH_LEVEL, 0, 9 } },
			     live = { .blocks = 40, .bytes = 4000, .allocs = 90, .frees = 10, .stack = { &frame, 1 },
				      .verdict = VERDICT_REACHABLE, .split = true,
				      .growth = { GROWTH_GROWS, 60, 0 } };
	struct summary s;

	(void)state;
	summary_init(&s);
	s.run.seconds = 60;
	s.run.verdicts.known = true;
	summary_add_group(&s, &lost);
	summary_add_group(&s, &live);
	summary_sort(&s);
	assert_says(&s, "  definite  see [2]                 job_new 0x1\n");
	assert_says(&s, "  reachable +60 B/min               job_new 0x1\n");
	s.groups[1].growth.shape = GROWTH_LEVEL;
	assert_says(&s, "  definite  levelled off 51s ago    job_new 0x1\n");
	/* a narrow table has no room for more than that */
	s.columns = 80;
	assert_says(&s, "  definite  levelled off  job_new 0x1\n");
	s.groups[0].growth.shape = GROWTH_ONCE;
	assert_says(&s, "  definite  levelled off  job_new 0x1\n");
	s.groups[0].growth = (struct growth){ GROWTH_SLOWS, 60, 0, 0, false };
	assert_says(&s, "  definite  +60 B/min now  job_new 0x1\n");
	summary_fini(&s);
}

static void hostile_numbers(void **state)
{
	struct growth_point series[] = {
		{ -1e300, UINT64_MAX, 0 }, { 0, 1, UINT64_MAX }, { 0.0 / 0.0, 5, 0 },
		{ 1e300 * 1e300, UINT64_MAX, 0 }
	};
	struct summary s;

	(void)state;
	summary_init(&s);
	s.run.seconds = 1e300;
	s.run.start_ns = INT64_MIN;
	summary_add_group(&s, &(struct summary_group){ .bytes = UINT64_MAX, .oldest_s = -1, .series = series,
						       .npoints = 4,
						       .growth = { GROWTH_GROWS, 1e300 * 1e300, -1e300 } });
	assert_says(&s, "[1] 16.0 EiB (0%) in 0 blocks");
	assert_says(&s, "    grows by 0 B/min");
	summary_fini(&s);
}

/*
 * The stopped share of all threads' time, of the time of threads that hit traps, and of that of one thread; older
 * traces do not have them.
 */
static void shares_of_the_time(void **state)
{
	struct summary s;

	(void)state;
	summary_init(&s);
	s.run.seconds = 10;
	s.run.stopped_seconds = 2;
	assert_says(&s, "  stopped   2s, all threads together\n");
	s.run.thread_seconds = 10;
	s.run.hitting_seconds = 9.9;
	s.run.hitting_stopped = 2;
	s.run.hitting = 1;
	assert_says(&s, "  stopped   2s, 20% of the time it was slowed by more than that: how long threads waited "
			"for another one, or for a processor, is not counted\n");
	assert_says(&s, "the watch slowed the process: a thread was stopped for 2s of 10s (20%), which slows it by more than that\n");
	s.run.verdicts.census = true;	/* where a budget can be kept */
	assert_says(&s, "the watch slowed the process: a thread was stopped for 2s of 10s (20%), which slows it by more than that; "
			"--engine auto costs less, --budget least\n");
	s.run.engine = "auto";	/* it came to ptrace */
	assert_says(&s, "which slows it by more than that; --budget costs less\n");
	s.run.engine = NULL;
	s.run.other = "the kernel's probes cannot be had here";
	assert_says(&s, "which slows it by more than that; --budget costs less\n");
	s.run.verdicts.census = false;	/* where nothing else can be done */
	s.totals.allocs = 1;
	assert_says(&s, "which slows it by more than that\n");
	s.run.other = NULL;
	assert_says(&s, "--engine auto costs less, --sample 512K least\n");
	s.run.frontend = "gdb";
	assert_says_not(&s, "costs less");
	s.run.frontend = "ptrace";
	s.totals.allocs = 0;
	s.run.verdicts.census = true;
	s.run.thread_seconds = 1;	/* it was stopped before the watch of it began */
	assert_says(&s, "  stopped   2s, 100% of the time it was slowed");
	s.run.thread_seconds = 40;
	assert_says(&s, "  stopped   2s in all 20% (2s of 9.9s) of the thread that hit traps "
			"5.0% (2s of 40s) of all threads, together: 4 on average it was slowed");
	s.run.hitting = 2;
	assert_says(&s, "  stopped   2s in all 20% (2s of 9.9s) of the 2 threads that hit traps, together "
			"5.0% (2s of 40s) of all threads, together: 4 on average it was slowed by more than that: how long threads waited for another one, or for "
			"a processor, is not counted\n");
	s.run.hitting_stopped = 1;	/* the rest: threads that were interrupted */
	assert_says(&s, "  stopped   2s in all 10% (1s of 9.9s) of the 2 threads that hit traps, together "
			"5.0% (2s of 40s) of all threads, together: 4 on average it was slowed by more than that");
	s.run.hitting_stopped = 0.4;	/* a sampled run: the sum is that of its budget */
	assert_says(&s, "  stopped   2s in all 5.0% (2s of 40s) of all threads, together: 4 on average it was slowed");
	s.run.hitting_stopped = 2;
	s.run.hitting_seconds = 39;
	assert_says(&s, "  stopped   2s in all 5.0% (2s of 40s) of all threads, together: 4 on average it was slowed");
	s.run.stopped_seconds = 0.4;	/* little of all threads' time, and nearly all of one thread's */
	s.run.worst_seconds = 0.5;
	s.run.worst_stopped = 0.4;
	assert_says(&s, "the watch slowed the process: a thread was stopped for 400ms of 500ms (80%), which slows it");
	assert_says(&s, "  stopped   400ms in all 80% (400ms of 500ms) of the thread that was stopped most "
			"1.0% (400ms of 40s) of all threads, together: 4 on average");
	s.run.thread_seconds = 10;	/* one thread, which made its first call late */
	assert_says(&s, "  stopped   400ms, 4.0% of the time 80% (400ms of 500ms) of the thread that was stopped most ");
	s.run.worst_seconds = 9.9;
	assert_says_not(&s, "that was stopped most");
	s.run.worst_seconds = 0.5;
	s.run.thread_seconds = 40;
	s.run.frontend = "uprobe";
	s.run.probed_seconds = 0.6;
	assert_says(&s, "of a thread's time the kernel's probes took at least 400ms of 500ms (80%); --budget costs less\n");
	s.run.other = "ptrace could remove its handler of SIGTRAP";
	assert_says(&s, "the kernel's probes took at least 400ms of 500ms (80%); --sample 512K costs less\n");
	assert_says(&s, ", by uprobe, as ptrace could remove its handler of SIGTRAP\n");
	s.run.engine = "auto";
	assert_says_not(&s, "handler");
	s.run.engine = s.run.other = NULL;
	assert_says(&s, "  stopped   no thread: calls were seen in the kernel, which took at least 600ms of processor time in all "
			"80% (400ms of 500ms) of the thread that made most calls\n");
	s.run.worst_seconds = s.run.probed_seconds = 0;
	assert_says(&s, "  stopped   no thread: calls were seen in the kernel, which takes some microseconds each\n");
	summary_fini(&s);
}

static void add_memory(struct summary *s, pid_t pid, struct memory_point first, struct memory_point last)
{
	struct memory_process p = {
		.pid = pid, .name = "nginx: worker", .points = { first, last }, .npoints = 2
	};

	summary_add_memory(s, &p);
}

/* The kernel's numbers for memory, compared with what was watched. */
static void memory_beside(void **state)
{
	struct summary s;

	(void)state;
	summary_init(&s);
	summary_set_target(&s, 7, "svc", "/usr/bin/svc");
	s.run.seconds = 20;
	s.run.events = 5;
	s.totals.live_bytes = 1 << 20;
	add_memory(&s, 7,
		   (struct memory_point){
			   .anonymous = 5 << 20, .file = 1 << 20, .swapped = 1 << 20, .heap = 100 },
		   (struct memory_point){
			   .anonymous = 15 << 20, .file = 1 << 19, .shared = 2 << 20, .heap = 100 });
	assert_says(&s, "resident memory grew by 11.0 MiB meanwhile; live blocks explain 9.1% of that: see "
			"memory at the end of this report\n");
	assert_says(&s, "  memory    RSS 17.5 MiB: anonymous +10.0 MiB, shared +2.0 MiB, files -512 KiB, "
			"swapped -1.0 MiB; live blocks explain 1.0 MiB of the growth (9.1%)"
			" the rest, 10.0 MiB: pages used for the first time, or mappings that are not "
			"malloc's (mmattach --growth -p 7 shows whose)\n");
	s.run.code_copied = 1 << 20;	/* that is ours */
	assert_says(&s, "resident memory grew by 10.0 MiB meanwhile; live blocks explain 10% of that");
	assert_says(&s, ": anonymous +10.0 MiB (1.0 MiB of it pages of code, copied for the traps), shared");
	assert_says(&s, "; live blocks explain 1.0 MiB of the growth (10%) the rest, 9.0 MiB: ");
	s.run.code_copied = UINT64_MAX;	/* of a damaged trace */
	assert_says_not(&s, "resident memory grew");
	s.run.code_copied = 40 << 10;	/* hardly worth a word */
	assert_says(&s, ": anonymous +10.0 MiB, shared");
	s.run.code_copied = 0;
	s.memories[0].points[1].heap = 6 << 20;
	assert_says(&s, "the rest, 10.0 MiB: malloc's heap grew, by memory that was freed since or lies "
			"between blocks (mmattach scan -p 7)\n");
	s.totals.live_bytes = 12 << 20;	/* in memory that it had before, too */
	assert_says(&s, "; live blocks, 12.0 MiB, explain all of the growth\n");
	s.totals.live_bytes = 9 << 20;
	assert_says_not(&s, "resident memory grew");
	assert_says_not(&s, "the rest");
	s.runtime = "JVM";
	assert_says(&s, "  runtime   JVM: Java objects are in a heap that the JVM maps; what native code "
			"mallocs is watched: jcmd 7 GC.class_histogram counts them\n");
	s.runtime = "something else";
	assert_says_not(&s, "  runtime");
	summary_fini(&s);
}

static void children_beside(void **state)
{
	struct summary s;

	(void)state;
	summary_init(&s);
	summary_set_target(&s, 7, "svc", "/usr/bin/svc");
	s.run.seconds = 20;
	s.run.events = 5;
	s.totals.live_bytes = 9 << 20;
	add_memory(&s, 7, (struct memory_point){ .anonymous = 5 << 20 },
		   (struct memory_point){ .anonymous = 5 << 20 });
	add_memory(&s, 8, (struct memory_point){ .anonymous = 1 << 20 },
		   (struct memory_point){ .anonymous = 3 << 20 });
	assert_says(&s, "  children  1, not watched; 8 grew by 2.0 MiB (mmattach -p 8)\n");
	add_memory(&s, 9, (struct memory_point){ .anonymous = 1 << 20 },
		   (struct memory_point){ .anonymous = 1 << 20 });
	assert_says(&s, "  children  2, not watched; 8 grew most, by 2.0 MiB (mmattach -p 8)\n");
	s.run.events = 0;
	assert_says(&s, "\nIt has 2 child processes, which were not watched:\n\n"
			"      pid        RSS      growth  process\n"
			"        8    3.0 MiB    +2.0 MiB  nginx: worker\n"
			"        9    1.0 MiB        +0 B  nginx: worker\n"
			"  to watch the one that grew most: mmattach -p 8 -d 20s\n");
	assert_says_not(&s, "  children  ");
	s.totals.live_bytes = 0;
	assert_says(&s, "None of the watched functions was called in this process itself: its children do the "
			"work.\n");
	s.totals.live_bytes = 9 << 20;
	/* of a process that was seen once, the growth is not known */
	s.memories[1].npoints = 1;
	assert_says(&s, "        8    1.0 MiB   seen once  nginx: worker\n"
			"        9    1.0 MiB        +0 B  nginx: worker\n"
			"  to watch one of them: mmattach -p 8 -d 20s\n");
	s.memories[1].npoints = 2;
	/* children that had ended by the last look cannot be watched */
	add_memory(&s, 10, (struct memory_point){ .anonymous = 1 << 20 },
		   (struct memory_point){ .anonymous = 9 << 20 });
	for (size_t i = 0; i < 3; i++)
		s.memories[i].points[1].at_us = 100;
	assert_says(&s, "\nIt has 2 child processes, which were not watched (1 more ended meanwhile):\n");
	assert_says(&s, "the one that grew most: mmattach -p 8 -d 20s\n");
	s.run.events = 5;
	assert_says(&s, "  children  2, not watched (1 more ended meanwhile); 8 grew most, by 2.0 MiB "
			"(mmattach -p 8)\n");
	s.memories[3].points[1].at_us = 100;
	for (pid_t pid = 11; pid < 8 + (pid_t)MEMORY_CHILDREN; pid++)
		add_memory(&s, pid, (struct memory_point){ .anonymous = 1 },
			   (struct memory_point){ .at_us = 100 });
	assert_says(&s, "  children  at least 64, not watched; 10 grew most, by");
	summary_fini(&s);
}

/* At most 1000 characters of a command line, however many bytes they have. */
static void a_long_command(void **state)
{
	static char arg[3001];
	char wanted[1200];
	struct summary s;

	(void)state;
	for (size_t i = 0; i + 2 < sizeof(arg); i += 2)
		memcpy(arg + i, "\xc3\xbc", 2);
	summary_init(&s);
	for (size_t i = 0; i < 996; i += 3)
		summary_add_arg(&s, "ab");
	s.run.seconds = 60;
	assert_says(&s, "ab ab\n  watched");
	for (size_t i = 0; i < 5000; i++)
		summary_add_arg(&s, arg);
	snprintf(wanted, sizeof(wanted), "ab %.8s ...\n  watched", arg);
	assert_says(&s, wanted);
	summary_fini(&s);
}

/* @s has a rule that is planted in a module. */
static void watch_malloc(struct summary *s)
{
	summary_init(s);
	s->run.seconds = 10;
	summary_add_probe(s, &(struct summary_probe){ "libc", "alloc malloc", "/lib/libc.so.6", 0, NULL });
}

static void nothing_kept_and_why(void **state)
{
	struct summary s;

	(void)state;
	watch_malloc(&s);
	assert_says(&s, "the process: 0 allocations in 10s\n\nNone of the watched functions was called.");
	assert_says(&s, "none lost");
	s.totals.unmatched_frees = 1;
	assert_says(&s, "\n\nBlocks were freed, but none was allocated in the watch");
	s.totals.allocs = s.totals.frees = 9;
	assert_says(&s, "was freed.\n10s is not long, though");
	s.run.seconds = 600;
	assert_says(&s, "was freed.\n\n  command");
	summary_add_lost(&s, "ring full", 1);
	assert_says(&s, "\nincomplete: 1 event was lost; see the end of this report\n\nEverything that was "
			"allocated");
	s.filtered.groups = 1;
	assert_says(&s, "All that is still live is hidden");
	summary_fini(&s);
}

/* Nothing was allocated, or nothing is left: what else the kernel knows of the process. */
static void nothing_kept_but(void **state)
{
	struct summary s;

	(void)state;
	watch_malloc(&s);
	summary_set_target(&s, 7, "svc", "/usr/bin/svc");
	add_memory(&s, 7, (struct memory_point){ .busy_us = 1000000 },
		   (struct memory_point){ .at_us = 10000000, .busy_us = 1100000, .heap = 155u << 20 });
	assert_says(&s, "None of the watched functions was called. Either the process did nothing, ");
	s.memories[0].points[1].busy_us = 16000000;
	assert_says(&s, "None of the watched functions was called, though the process used 150% of a processor:\n"
			"it works in memory that it has, or allocates in another way. `mmattach probes -p 7` shows");
	s.totals.allocs = s.totals.frees = 9;
	assert_says(&s, "was freed.\nmalloc's heap has 155 MiB, though: `mmattach scan -p 7` shows");
	s.memories[0].points[1].heap = 1u << 20;
	assert_says_not(&s, "malloc's heap has");
	summary_fini(&s);
}

/* Whether functions that could not be watched were called is not known. */
static void nothing_kept_of_what_was_seen(void **state)
{
	struct summary s;

	(void)state;
	watch_malloc(&s);
	summary_add_probe(&s, &(struct summary_probe){ "libc", "alloc pvalloc\033[2J", "/lib/libc.so.6", 0, "no room" });
	assert_says(&s, "incomplete: pvalloc\\x1b[2J of libc.so.6 could not be watched");
	assert_says(&s, "If anything was allocated, it was not seen: pvalloc");
	s.totals.allocs = s.totals.frees = 9;
	assert_says(&s, "was freed, but not all may have been seen: pvalloc");
	summary_fini(&s);
}

/* Where descriptors were watched, memory is no answer; and what has ended cannot be looked at. */
static void nothing_kept_of_what_is_no_memory(void **state)
{
	struct summary s;

	(void)state;
	watch_malloc(&s);
	summary_add_family(&s, &(struct summary_family){ .name = "fd", .noun = "descriptor" });
	summary_set_target(&s, 7, "svc", "/usr/bin/svc");
	add_memory(&s, 7, (struct memory_point){ .busy_us = 1000000 },
		   (struct memory_point){ .at_us = 10000000, .busy_us = 16000000, .heap = 155u << 20 });
	assert_says(&s, "None of the watched functions was called. Either the process did nothing, ");
	s.totals.allocs = s.totals.frees = 9;
	assert_says_not(&s, "malloc's heap has");
	summary_fini(&s);
}

static void what_has_ended_cannot_be_looked_at(void **state)
{
	struct summary s;

	(void)state;
	watch_malloc(&s);
	summary_set_target(&s, 7, "svc", "/usr/bin/svc");
	summary_note(&s, "the target ended with status 0");
	add_memory(&s, 7, (struct memory_point){ .busy_us = 1000000, .threads = 4, .mapped = 100u << 20 },
		   (struct memory_point){ .at_us = 10000000, .busy_us = 16000000, .heap = 155u << 20, .threads = 9,
					  .mapped = 600u << 20 });
	assert_says(&s, "though the process used 150% of a processor:");
	assert_says(&s, "`mmattach probes -p PID` shows");
	assert_says(&s, "\n  threads   4 at the start, 9 at the end\n");
	assert_says_not(&s, "-p 7");
	s.totals.allocs = s.totals.frees = 9;
	assert_says_not(&s, "malloc's heap has");
	assert_says_not(&s, "-p 7");
	summary_fini(&s);
}

/* What grew besides, with a command that shows more, unless that is what was watched. */
static void what_else_grew(void **state)
{
	struct summary s;

	(void)state;
	watch_malloc(&s);
	summary_set_target(&s, 7, "svc", "/usr/bin/svc");
	add_memory(&s, 7, (struct memory_point){ .threads = 4, .descriptors = 10, .mapped = 100u << 20 },
		   (struct memory_point){ .at_us = 9, .threads = 9, .descriptors = 14, .mapped = 110u << 20 });
	assert_says(&s, "\n  threads   4 at the start, 9 at the end (mmattach --family thread -p 7 shows which ");
	assert_says_not(&s, "  files ");
	assert_says_not(&s, "  addresses ");
	s.memories[0].points[1].descriptors = 15;
	s.memories[0].points[1].mapped = 600u << 20;
	assert_says(&s, "\n  files     10 open descriptors at the start, 15 at the end (mmattach --family fd -p 7 ");
	assert_says(&s, "\n  addresses +500 MiB of mappings; those of threads that are not joined are kept ");
	/* what has memory behind it is counted as memory */
	s.memories[0].points[1].anonymous = 490u << 20;
	assert_says_not(&s, "  addresses ");
	s.memories[0].points[1].anonymous = 0;
	/* what was not read has not grown */
	s.memories[0].points[0] = (struct memory_point){ 0 };
	assert_says_not(&s, "at the start");
	assert_says_not(&s, "  addresses ");
	summary_fini(&s);
}

/* The offsets of frames without names are of no use without the build. */
static void builds_of_frames_without_names(void **state)
{
	struct summary_frame frames[] = {
		{ .module = "/usr/bin/svc", .build_id = "c56d0f", .offset = 0x18c8 },
		{ .module = "/usr/bin/svc", .build_id = "c56d0f", .offset = 0x1900 },
		{ .module = "/lib/libc.so.6", .build_id = "ab12", .function = "start_thread" },
		{ .module = "/opt/plain.so", .offset = 1 },
		{ .module = "/opt/lib" EVIL ".so", .build_id = "77", .offset = 1 },
	};
	const char *const more[] = { "1", "2", "3", "4", "5" };
	struct summary s;

	(void)state;
	watch_malloc(&s);
	summary_add_group(&s, &(struct summary_group){ .family = "libc", .blocks = 9, .bytes = 900,
						       .stack = { &frames[2], 1 } });
	summary_sort(&s);
	assert_says_not(&s, "build id");
	assert_says_not(&s, "no names");
	for (size_t i = 0; i < 2; i++)
		summary_add_group(&s, &(struct summary_group){ .family = "libc", .blocks = 9, .bytes = 900,
							       .stack = { frames, 5 } });
	summary_sort(&s);
	assert_says(&s, "\n  build id  c56d0f svc\n  build id  77 lib");
	assert_says(&s, "addr2line -Cfi -e FILE 0x18c7 for svc+0x18c8\n");
	assert_says_not(&s, "ab12");
	for (size_t i = 0; i < 5; i++)
		frames[i] = (struct summary_frame){ .module = "/x/more", .build_id = more[i] };
	summary_add_group(&s, &(struct summary_group){ .family = "libc", .blocks = 9, .bytes = 1,
						       .stack = { frames, 5 } });
	summary_sort(&s);
	assert_says(&s, "  build id  3 more\n");
	assert_says_not(&s, "  build id  4 more\n");
	summary_fini(&s);
}

/* A cache whose entries live longer than the watch frees none; what is lost for certain is no cache. */
static void a_short_watch(void **state)
{
	struct summary_group g = { .family = "libc", .blocks = 9, .bytes = 900,
				   .growth = { GROWTH_GROWS, 9, 0 } };
	struct summary s;

	(void)state;
	watch_malloc(&s);
	summary_add_group(&s, &g);
	summary_sort(&s);
	assert_says(&s, "\nwatched for 10s: what is meant to live longer (caches, sessions) looks like "
			"a leak; watch for longer\n\n");
	s.groups[0].verdict = VERDICT_REACHABLE;
	assert_says(&s, "\nwatched for 10s: ");
	s.groups[0].verdict = VERDICT_DEFINITE;
	assert_says_not(&s, "watched for");
	s.groups[0].verdict = VERDICT_POSSIBLE;
	assert_says(&s, "\nwatched for 10s: ");
	s.groups[0].growth.shape = GROWTH_LEVEL;
	assert_says_not(&s, "watched for");
	s.groups[0].growth.shape = GROWTH_GROWS;
	s.run.seconds = 300;
	assert_says_not(&s, "watched for");
	s.run.seconds = 299;
	assert_says(&s, "\nwatched for 4m59s: ");
	summary_fini(&s);
}

/* What speaks against the answer stands right below it; nothing does where there is nothing. */
static void how_sure_it_is(void **state)
{
	struct summary s;

	(void)state;
	watch_malloc(&s);
	s.totals.live_blocks = 1;
	s.run.verdicts.wanted = s.run.verdicts.known = true;
	assert_says_not(&s, "incomplete");
	assert_says_not(&s, "weaker");
	summary_add_doubt(&s, "one thread was not stopped");
	assert_says(&s, "\n1 doubt about the verdicts; see the end of this report\n\n");
	s.run.verdicts.known = false;
	assert_says(&s, "\nno verdicts: the reason is not known\n\n");
	s.run.verdicts.why_not = "the pause would have been about 600ms, more than --max-pause 200ms "
				 "(--verdicts yes pauses the process for as long as it takes)";
	assert_says(&s, "\nno verdicts: the pause would have been about 600ms, more than --max-pause 200ms "
			"(--verdicts yes\n"
			"             pauses the process for as long as it takes)\n\n");
	assert_says_not(&s, "incomplete");
	assert_says_not(&s, "weaker");
	s.totals.live_blocks = 0;
	assert_says_not(&s, "no verdicts");
	s.totals.live_blocks = 1;
	s.run.verdicts.wanted = false;	/* --verdicts no */
	assert_says_not(&s, "no verdicts");
	summary_add_gap(&s, 1, 2, NULL);
	summary_add_gap(&s, 5, 1.5, NULL);
	s.run.stacks_cut = 1;
	assert_says(&s, "\nincomplete: 2 gaps in the watch (3.5s in all), 1 stack ends too early; see the "
			"end of this report\n\n");
	s.run.events = 500;
	s.run.stacks_cut = 8;
	s.run.stacks_lost = 2;
	assert_says(&s, "\nincomplete: 2 gaps in the watch (3.5s in all); see the end of this report\n\n");
	assert_says(&s, "8 stacks cut short, 2 stacks not followed to the end");
	s.run.stacks_lost = 3;
	assert_says(&s, ", 11 stacks end too early; see");
	summary_fini(&s);
}

static void nothing_could_be_watched(void **state)
{
	struct summary s;

	(void)state;
	summary_init(&s);
	summary_add_probe(&s, &(struct summary_probe){ "libc", "alloc my_malloc", NULL, 0, NULL });
	assert_says(&s, "None of the functions below could be watched");
	summary_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(line_by_line),
		cmocka_unit_test(without_times),
		cmocka_unit_test(of_many_the_table_shows_ten),
		cmocka_unit_test(shapes_read_differently),
		cmocka_unit_test(growth_is_net),
		cmocka_unit_test(long_names_are_cut_in_the_table_only),
		cmocka_unit_test(names_are_whole_where_there_is_room),
		cmocka_unit_test(a_name_goes_before_an_offset),
		cmocka_unit_test(the_leak_goes_on_in_another_row),
		cmocka_unit_test(hostile_numbers),
		cmocka_unit_test(shares_of_the_time), cmocka_unit_test(memory_beside), cmocka_unit_test(nothing_kept_but),
		cmocka_unit_test(nothing_kept_of_what_was_seen), cmocka_unit_test(nothing_kept_of_what_is_no_memory), cmocka_unit_test(what_has_ended_cannot_be_looked_at),
		cmocka_unit_test(what_else_grew),
		cmocka_unit_test(children_beside),
		cmocka_unit_test(a_long_command),
		cmocka_unit_test(nothing_kept_and_why),
		cmocka_unit_test(builds_of_frames_without_names),
		cmocka_unit_test(a_short_watch),
		cmocka_unit_test(how_sure_it_is),
		cmocka_unit_test(nothing_could_be_watched),
	};

	setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

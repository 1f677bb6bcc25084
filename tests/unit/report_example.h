/* SPDX-License-Identifier: MIT */
/*
 * The run that the report tests print: groups that grow and that do not, losses, a gap, a rule without a
 * function and one never called, double frees, suppressions, and names chosen by an attacker.
 */
#ifndef REPORT_EXAMPLE_H
#define REPORT_EXAMPLE_H

#include "report/model/summary.h"

#define HOSTILE "evil\x1b[2J\"\\\n\xff\xc3\xbc;,"
#define MODULE "/usr/bin/svc"

static struct summary_frame example_main[] = {
	{ .pc = 0x55002222, .module = MODULE, .build_id = "0a1b", .offset = 0x2222, .function = "main",
	  .file = "svc.cc", .line = 7 },
};

/* Live since the beginning: no growth. */
static inline void add_level(struct summary *s)
{
	struct summary_frame stack[] = {
		{ .pc = 0x55001234, .module = MODULE, .build_id = "0a1b", .offset = 0x1234,
		  .function = "keep<int>", .file = "svc.cc", .line = 44, .inlined = true },
		{ .pc = 0x55001234, .module = MODULE, .build_id = "0a1b", .offset = 0x1234,
		  .function = HOSTILE, .file = HOSTILE, .line = 92 },
		{ .pc = 0x7f0000000001 },
	};
	struct growth_point series[] = { { 2.5, 900000, 0 }, { 5, 1048576, 0 }, { 7.5, 1048576, 0 }, { 10, 1048576, 0 } };
	taddr samples[] = { 0x55559000, 0x55559020 };

	summary_add_group(s, &(struct summary_group){
		.family = "libc", .blocks = 2, .bytes = 1048576, .bytes_direct = 1048576, .allocs = 599,
		.frees = 597,
		.oldest_s = 9, .youngest_s = 1.25, .verdict = VERDICT_DEFINITE,
		.growth = { GROWTH_LEVEL, 0, 5 },
		.series = series, .npoints = 4, .stack = { stack, 3, .end = STACK_CUT }, .samples = samples,
		.nsamples = 2 });
}

/* Grows, through two wrappers. */
static inline void add_growing(struct summary *s)
{
	struct summary_frame stack[] = {
		{ .pc = 0x7f0000001111,
		  .module = "/usr/lib/libstdc++.so.6",
		  .offset = 0x1111,
		  .function = "operator new(unsigned long)",
		  .linkage = "_Znwm" },
		{ .pc = 0x55003333,
		  .module = MODULE,
		  .build_id = "0a1b",
		  .offset = 0x3333,
		  .function = "std::allocator<int>::allocate(unsigned long)",
		  .file = "allocator.h",
		  .line = 9,
		  .inlined = true },
		{ .pc = 0x55003333,
		  .module = MODULE,
		  .build_id = "0a1b",
		  .offset = 0x3333,
		  .function = "session_open",
		  .file = "/src/svc/session.cc",
		  .line = 120 },
		example_main[0],
	};
	struct growth_point series[] = { { 1, 0, 0 },     { 3, 20000, 0 }, { 5, 30000, 0 },
					 { 7, 42000, 0 }, { 9, 60000, 0 }, { 10, 65536, 0 } };

	summary_add_group(s, &(struct summary_group){
		.family = "libc", .blocks = 64, .bytes = 65536, .bytes_direct = 65536, .allocs = 65,
		.frees = 1,
		.oldest_s = 8.5, .youngest_s = 0.1, .growth = { GROWTH_GROWS, 393216, 0 }, .series = series,
		.npoints = 6,
		.stack = { stack, 4, .wrappers = 2 } });
}

static inline void add_twice(struct summary *s)
{
	summary_add_twice(s, &(struct summary_twice){
		.family = "libc", .count = 3, .sample = 0x55558000, .time_s = 4.5,
		.second = { example_main, 1, STACK_WHOLE },
		.alloc = { example_main, 1, STACK_LOST } });
	summary_add_twice(s, &(struct summary_twice){
				     .family = "libc", .count = 1, .sample = 0x55558100, .time_s = 6 });
}

static inline void add_run(struct summary *s)
{
	summary_set_target(s, 1234, "svc", MODULE);
	summary_add_arg(s, "svc");
	summary_add_arg(s, HOSTILE);
	s->run.start_ns = INT64_C(1767225600250000000);	/* 2026-01-01T00:00:00.25Z */
	s->run.seconds = 10;
	s->run.events = 1000;
	s->run.stacks_cut = 1;
	s->run.stacks_lost = 2;
	s->run.ring_waits = 3;
	s->run.stopped_seconds = 0.5;
	summary_add_lost(s, "ring full", 7);
	summary_add_lost(s, "no memory", 1);
	summary_add_probe(s, &(struct summary_probe){ "libc", "alloc malloc size=arg1", "/lib/libc.so.6", 600,
						      NULL });
	summary_add_probe(s, &(struct summary_probe){ "libc", "alloc valloc size=arg1", "/lib/libc.so.6", 0,
						      NULL });
	summary_add_probe(s, &(struct summary_probe){ "libc", "free my_free", NULL, 0, NULL });
	summary_add_probe(s, &(struct summary_probe){ "libc", "free free", "/lib/libc.so.6", 0,
						      "bytes differ" });
	summary_add_gap(s, 2, 3.5, "mmattach was stopped");
	summary_note(s, "the keeper was killed by %s", HOSTILE);
}

static inline void report_example(struct summary *s)
{
	summary_init(s);
	add_run(s);
	s->totals = (struct summary_totals){ 700, 621, 3, 5, 79, 1048576 + 65536 + 24 + 1200, 0, 0 };
	summary_add_group(s, &(struct summary_group){ .family = "libc", .blocks = 1, .bytes = 24,
						      .bytes_direct = 24, .allocs = 1, .oldest_s = 9.5,
						      .youngest_s = 9.5 });
	add_level(s);
	add_growing(s);
	add_twice(s);
	summary_add_suppression(s, &(struct summary_suppression){ HOSTILE, "known.supp:3", 1, 5, 500 });
	s->suppressed = (struct summary_hidden){ .groups = 1, .blocks = 5, .bytes = 500 };
	s->filtered = (struct summary_hidden){ .groups = 2, .blocks = 7, .bytes = 700 };
	summary_sort(s);
}

#endif

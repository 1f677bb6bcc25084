/* SPDX-License-Identifier: MIT */
/*
 * The run that the report tests print: two groups, losses, a gap, a rule without a
 * function, and names chosen by somebody who wishes us ill.
 */
#ifndef REPORT_EXAMPLE_H
#define REPORT_EXAMPLE_H

#include "report/summary.h"

#define HOSTILE "evil\x1b[2J\"\\\n\xff\xc3\xbc"

static void report_example(struct summary *s)
{
	struct summary_frame stack[] = {
		{ .pc = 0x55001234, .module = "/usr/bin/svc", .build_id = "0a1b", .offset = 0x1234,
		  .function = "keep<int>", .file = "svc.cc", .line = 44, .inlined = true },
		{ .pc = 0x55001234, .module = "/usr/bin/svc", .build_id = "0a1b", .offset = 0x1234,
		  .function = HOSTILE, .file = HOSTILE, .line = 92 },
		{ .pc = 0x7f0000000001 },
	};
	taddr samples[] = { 0x55559000, 0x55559020 };

	summary_init(s);
	summary_set_target(s, 1234, "svc", "/usr/bin/svc");
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
	summary_add_probe(s, &(struct summary_probe){ "libc", "alloc malloc size=arg1", "/lib/libc.so.6", 600, NULL });
	summary_add_probe(s, &(struct summary_probe){ "libc", "free my_free", NULL, 0, NULL });
	summary_add_probe(s, &(struct summary_probe){ "libc", "free free", "/lib/libc.so.6", 0, "bytes differ" });
	summary_add_gap(s, 2, 3.5, "mmattach was stopped");
	s->totals = (struct summary_totals){ 600, 400, 3, 2, 3, 1048576 + 24 };
	summary_add_group(s, &(struct summary_group){ .family = "libc", .blocks = 1, .bytes = 24, .bytes_direct = 24,
						      .allocs = 1, .oldest_s = 9.5, .youngest_s = 9.5 });
	summary_add_group(s, &(struct summary_group){ .family = "libc", .blocks = 2, .bytes = 1048576,
						      .bytes_direct = 1048576, .allocs = 599, .frees = 597,
						      .oldest_s = 9, .youngest_s = 1.25, .verdict = VERDICT_DEFINITE,
						      .stack = stack, .depth = 3, .stack_end = STACK_CUT, .samples = samples, .nsamples = 2 });
	summary_note(s, "the keeper was killed by %s", HOSTILE);
	summary_sort(s);
}

#endif

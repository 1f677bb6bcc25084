/* SPDX-License-Identifier: MIT */
/*
 * The scan that the report tests print: groups of every verdict, by class, by size and with a stack; a
 * corrupt place, doubts, memory that was not read, pointers of each kind; and names chosen by an attacker.
 */
#ifndef SCAN_EXAMPLE_H
#define SCAN_EXAMPLE_H

#include <stdlib.h>
#include <string.h>

#include "report/model/scan.h"

#define SCAN_HOSTILE "evil\x1b[2J\"\\\n\xff\xc3\xbc;,"

static inline void scan_example_groups(struct summary *s)
{
	struct summary_frame stack[] = {
		{ .pc = 0x55001234, .module = "/usr/bin/svc", .build_id = "0a1b", .offset = 0x1234,
		  .function = "session_open", .file = "/src/svc.c", .line = 42 },
	};
	taddr samples[] = { 0x55559000, 0x55559020, 0x55559040 };

	summary_add_group(s, &(struct summary_group){ .family = "libc", .blocks = 900, .bytes = 1 << 20,
						      .verdict = VERDICT_INDIRECT,
						      .kind = { .label = "1032 bytes", .size_low = 1032,
								.size_high = 1032,
								.content = "text: \"" SCAN_HOSTILE "\"" } });
	summary_add_group(s, &(struct summary_group){ .family = "libc",
						      .blocks = 3000,
						      .bytes = 3 << 20,
						      .bytes_direct = 3 << 20,
						      .verdict = VERDICT_DEFINITE,
						      .samples = samples,
						      .nsamples = 3,
						      .kind = { .label = "ns::Session<" SCAN_HOSTILE ">",
								.class_name = "ns::Session<" SCAN_HOSTILE ">",
								.module = "/usr/lib/libsvc.so.1",
								.size_low = 1048,
								.size_high = 1048,
								.indirect_blocks = 900,
								.indirect_bytes = 1 << 20 } });
	summary_add_group(s, &(struct summary_group){
				     .family = "libc", .blocks = 1, .bytes = 24, .bytes_direct = 24,
				     .verdict = VERDICT_POSSIBLE, .samples = samples, .nsamples = 1,
				     .kind = { .label = "24 bytes", .size_low = 24, .size_high = 24 } });
	summary_add_group(s, &(struct summary_group){ .family = "libc", .blocks = 20, .bytes = 700000,
						      .bytes_direct = 700000, .verdict = VERDICT_REACHABLE,
						      .kind = { .label = "32 KiB to 64 KiB",
								.size_low = 33000, .size_high = 37000 } });
	summary_add_group(s, &(struct summary_group){ .family = "libc", .blocks = 4, .bytes = 800,
						      .bytes_direct = 800, .verdict = VERDICT_REACHABLE,
						      .stack = { stack, 1 },
						      .kind = { .size_low = 200, .size_high = 200 } });
}

static inline void scan_example_heap(struct scan_report *r)
{
	r->heap.known = true;
	r->heap.layout = "glibc 2.32 to 2.41";
	r->heap.listed = "glibc's malloc";
	r->heap.mmapped = (struct summary_sum){ 1, 135168 };
	r->heap.mmapped_claimed = 135168;
	r->heap.unseen_bytes = 4096;
	scan_add_arena(r, &(struct scan_arena){ .at = 0x7f0000000c60, .allocator = "glibc", .system_bytes = 10 << 20,
						.walked_bytes = 9 << 20, .used = { 3900, 5 << 20 },
						.fast = { 2, 64 }, .tcache = { 7, 700 },
						.bins = { 30, 3 << 20 }, .top_bytes = 1 << 20,
						.other_bytes = 656 });
	scan_add_problem(r, 0x5555a000, "a size that is no size: 0x41414141");
	r->more_problems = 2;
}

static inline void scan_example_pointers(struct scan_report *r)
{
	static const struct scan_pointer all[] = {
		{ .place = SCAN_IN_BLOCK, .at = 0x55558010, .value = 0x55559000,
		  .block = { 0x55558000, 40, VERDICT_INDIRECT, "Node" } },
		{ .place = SCAN_IN_REGISTER, .value = 0x55559000, .tid = 1235, .reg = "rbx" },
		{ .place = SCAN_ON_STACK, .at = 0x7ffd00000040, .value = 0x55559008, .tid = 1236,
		  .sp_known = true, .from_sp = 0x40 },
		{ .place = SCAN_IN_TLS, .at = 0x7f0000001000, .value = 0x55559000, .tid = 1236 },
		{ .place = SCAN_IN_DATA, .at = 0x55004010, .value = 0x55559000, .module = "/usr/bin/svc",
		  .offset = 0x4010, .symbol = "sessions" SCAN_HOSTILE, .symbol_offset = 16 },
		{ .place = SCAN_IN_DATA, .at = 0x7f0000002000, .value = 0x55559000 },
		{ .place = SCAN_IN_ALLOCATOR, .at = 0x7f0000003000, .value = 0x55559000 },
	};
	struct scan_answer *a = scan_add_answer(r);

	a->addr = 0x55559008;
	a->in_block = true;
	a->block = (struct scan_block){ 0x55559000, 1048, VERDICT_DEFINITE, "ns::Session" };
	a->pointers = malloc(sizeof(all));
	memcpy(a->pointers, all, sizeof(all));
	a->n = 7;
	a->total = 9;
	a->chain.links = malloc(2 * sizeof(*all));
	a->chain.links[0] = all[0];
	a->chain.links[1] = all[4];
	a->chain.links[1].value = 0x55558000;
	a->chain.n = 2;
	a->chain.root = true;
	a = scan_add_answer(r);
	a->addr = 0x1000;
	a->where = "no mapping of the process";
}

static inline void scan_example(struct scan_report *r)
{
	struct summary_verdicts *v = &r->summary.run.verdicts;

	scan_init(r);
	summary_set_target(&r->summary, 1234, "svc", "/usr/bin/svc");
	summary_add_arg(&r->summary, "svc");
	summary_add_arg(&r->summary, SCAN_HOSTILE);
	r->summary.run.start_ns = INT64_C(1767225600250000000);	/* 2026-01-01T00:00:00.25Z */
	r->summary.run.stopped_seconds = 0.034;
	v->expected_s = 0.041;
	v->pause_s = 0.034;
	v->threads = 12;
	v->not_stopped = 1;
	r->pauses = 2;
	r->memory = (struct scan_memory){ 64 << 20, 8192, 4096 };
	v->known = true;
	r->summary.totals.live_blocks = 3925;
	r->summary.totals.live_bytes = (4 << 20) + 700824;
	v->all[VERDICT_DEFINITE] = (struct summary_sum){ 3000, 3 << 20 };
	v->all[VERDICT_INDIRECT] = (struct summary_sum){ 900, 1 << 20 };
	v->all[VERDICT_POSSIBLE] = (struct summary_sum){ 1, 24 };
	v->all[VERDICT_REACHABLE] = (struct summary_sum){ 24, 700800 };
	scan_example_groups(&r->summary);
	scan_example_heap(r);
	summary_add_doubt(&r->summary, "8192 bytes are swapped out: pointers there were not seen");
	summary_note(&r->summary, "of %s", SCAN_HOSTILE);
	r->summary.filtered = (struct summary_hidden){ .groups = 1, .blocks = 2, .bytes = 99 };
	scan_sort(r);
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * fact_example: a fact of every kind, with numbers at their limits and strings that are missing, empty and
 * odd; and facts at random.
 */
#ifndef FACT_EXAMPLE_H
#define FACT_EXAMPLE_H

#include <stdint.h>
#include <string.h>

#include "trace/fact.h"

#define EXAMPLE_STACKS 8	/* the stacks 0 ... 7 are used by random facts */
#define MOST UINT64_MAX
#define MOST32 UINT32_MAX

static const char *const example_arguments[] = { "a", "", "b c\n", "\xff\x80" };
static const uint64_t example_points[MMT_SERIES_POINTS] = { 0, 1, 127, 128, MOST };
static const struct fact_name example_names[] = {
	{ "operator new", "_Znwm", "/usr/src/new.cc", 50, true },
	{ NULL, NULL, NULL, 0, false },
	{ "", "", "", MOST32, false },
};

static const struct fact_use example_uses[] = { { 1, 3, 0 }, { 5, 0, MOST }, { 2, MOST, 1 } };

static const struct fact_sum example_sums[] = { { 0, 0 }, { 1, MOST }, { MOST, 2 }, { 3, 4 }, { 5, 6 } };
static const struct fact_verdicts example_looks[] = {
	{ 1, true, true, NULL, "glibc 2.32 to 2.41", 5, MOST, MOST, MOST32, 3, MOST, 7, example_sums, 5,
	  example_arguments, 4 },
	{ MOST32, false, false, "too long", NULL, MOST, 0, 0, 0, 0, 0, MOST, example_sums, 0,
	  example_arguments, 0 },
};
static const struct fact_judged example_judged[] = {
	{ MOST, 0, 0 }, { 0x5010, 3, MOST }, { 0x5028, MOST, 0 }, { 0, 0, 0 }
};

static const struct fact_sample example_samples[] = {
	{ MOST, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, true, 3, { { MOST, 2, 1 }, { 0 }, { 3, 0, MOST } }, MOST, 11,
	  MOST, MOST32, 12, MOST, { 1, MOST, 3, 4, MOST, 6, 7 } },
	{ .exposed2 = MOST, .nsteps = MMT_SAMPLE_STEPS, .steps = { [MMT_SAMPLE_STEPS - 1] = { 1, 2, 3 } } },
	{ .standing = true },
};
static const struct fact_budget example_budgets[] = {
	{ 10000, 1, 2, 3, 4, 5, 6, 7, 8, 9, MOST, { 1, MOST, 3, 4, MOST } },
	{ MOST, .candidates = 200 },
};

static const struct fact_process example_processes[] = {
	{ 3, INT32_MIN, "sixteen bytes.." "\xff", INT64_MIN, true, false, true, "comm", "/usr/bin/svc", "web-1",
	  "host=a1,pod=x", "uprobe", "exact", "refused: it has a debugger", .run_us = MOST, .allocs = 1,
	  .own_last = MOST, .sums = example_sums, .nsums = 5 },
	{ MOST32, .judged = true },
};
static const struct fact_part example_parts[] = { { 3, MOST }, { MOST32, 0 }, { 0, 1 } };
static const struct fact_merged example_merged[] = {
	{ MMT_VERDICT_DEFINITE, MOST, 1, 2, MOST, 4, 5, 6, 7, MOST, 9, 10000, example_points, MMT_SERIES_POINTS,
	  example_parts, 3 },
	{ MOST32, .points = example_points, .parts = example_parts },
};

#define EVENT(k, ...) { .kind = MMT_##k, .block = { __VA_ARGS__ } }
#define INFORMATION(k, ...) { .kind = MMT_INFO, .info = MMT_##k, __VA_ARGS__ }

static const struct fact fact_examples[] = {
	EVENT(ALLOC, .addr = 0x555500001000, .size = 24, .stack = 0),
	EVENT(ALLOC, .addr = MOST, .size = MOST, .stack = MOST32),
	EVENT(ALLOC, .addr = 0, .size = 0, .stack = 1),
	EVENT(ALLOC, .addr = 0x8000000000000000, .size = 1, .stack = 2),
	EVENT(ALLOC, .addr = 0x7fffffffffffffff, .size = 1, .stack = 2),
	EVENT(FREE, .addr = 1),
	EVENT(FREE, .addr = 0xfffffffffffffff0),
	EVENT(FREE_AT, .addr = 17, .stack = 3),
	EVENT(OLD, .addr = 33, .stack = FACT_NONE),
	EVENT(OLD, .addr = 32, .stack = MOST32),
	EVENT(TWICE, .addr = 48, .stack = 1, .first = 2, .alloc = 3, .size = MOST),
	EVENT(ASIDE, .key = MOST, .addr = 64),
	EVENT(ASIDE_FREED, .key = 5, .stack = 1),
	EVENT(ASIDE_BACK, .key = 0),
	EVENT(FORGET, .addr = 80),
	EVENT(HELD, .addr = 96, .size = 1ull << 40, .stack = 4, .birth_us = MOST),
	{ .kind = MMT_REF, .ref = { .addr = 0x5000, .stack = MOST32, .by = 1, .count = FACT_NONE } },
	{ .kind = MMT_REF, .ref = { .addr = MOST, .stack = 0, .by = MOST, .count = MOST } },
	{ .kind = MMT_UNREF, .ref = { .addr = 0x5010, .stack = 7, .by = 2, .count = 1 } },
	{ .kind = MMT_BORN, .ref = { .addr = 0, .stack = 6, .by = 0, .count = 200 } },
	{ .kind = MMT_COUNTED, .ref = { .addr = 0x6000, .count = MOST } },
	{ .kind = MMT_COUNTED, .ref = { .addr = 0x6001, .count = 0 } },
	{ .kind = MMT_OBJECT, .object = { 0x7000, 5, INT64_MIN, true, false, example_uses, 3 } },
	{ .kind = MMT_OBJECT, .object = { MOST, MOST, INT64_MAX, false, true, example_uses, 1 } },
	{ .kind = MMT_OBJECT, .object = { 0, 0, -1, true, true, example_uses, 0 } },
	{ .kind = MMT_FAMILY, .family = MOST32 },
	{ .kind = MMT_TIME },
	INFORMATION(RUN, .run = { .id = "sixteen bytes.."
					"\xff",
				  .piece = MOST32,
				  .last = MOST32,
				  .start_ns = INT64_MIN,
				  .frontend = "ptrace",
				  .mode = "",
				  .writer = "mmattach 1", .host = "web-1",
				  .engine = "auto", .other = "ptrace may not" }),
	INFORMATION(RUN, .run = { .id = { 0 } }),
	INFORMATION(RUN, .run = { .start_ns = INT64_MAX, .piece = 1 }),
	INFORMATION(TARGET, .target = { INT32_MIN, "comm", NULL, example_arguments, 4 }),
	INFORMATION(TARGET, .target = { INT32_MAX, NULL, "", example_arguments, 0 }),
	INFORMATION(FAMILY_NAME, .family_name = { .number = 3, .name = "libc" }),
	INFORMATION(FAMILY_NAME, .family_name = { .number = MOST32, .name = NULL }),
	INFORMATION(FAMILY_NAME, .family_name = { 4, "dict", "dictionary", true, false }),
	INFORMATION(FAMILY_NAME, .family_name = { 5, "growth", "range", false, true }),
	INFORMATION(MODULE,
		    .module = { 1, 2, MOST - 4095, 0x1000, MOST, "/lib/libc.so.6", "0123456789abcdef" }),
	INFORMATION(MODULE, .module = { MOST32, MOST32, 0, 0, 0, NULL, "" }),
	INFORMATION(FRAME, .frame = { 7, FACT_NONE, MOST, true, false }),
	INFORMATION(FRAME, .frame = { MOST32, MOST32, 0, false, false }),
	INFORMATION(FRAME, .frame = { 8, 1, 5, true, true }),
	INFORMATION(FRAME, .frame = { 9, 1, 5, false, true }),
	INFORMATION(NODE, .node = { MOST32, 0, MOST32 }),
	INFORMATION(NODE, .node = { 1, 2, 3 }),
	INFORMATION(STACK, .stack = { MOST32, 0, MMT_END_ELSEWHERE, FACT_NONE }),
	INFORMATION(STACK, .stack = { 1, 2, MOST32, FACT_NONE }),
	INFORMATION(STACK, .stack = { 2, 2, MMT_END_CUT, MOST32 }),
	INFORMATION(TAG, .tag = { MOST32, "gf_common_mt_char" }),
	INFORMATION(TAG, .tag = { 0, NULL }),
	INFORMATION(SKIP, .skip = "xmalloc"),
	INFORMATION(SKIP, .skip = NULL),
	INFORMATION(NAMES, .names = { 9, example_names, 3 }),
	INFORMATION(NAMES, .names = { MOST32, example_names, 0 }),
	INFORMATION(PROBE, .probe = { MOST32, 1, "alloc malloc size=arg1", NULL, "not found" }),
	INFORMATION(PROBE, .probe = { 0, MOST32, "", "/lib/x", NULL }),
	INFORMATION(HITS, .hits = { MOST32, MOST }),
	INFORMATION(LOST, .lost = { "ring full", MOST }),
	INFORMATION(LOST, .lost = { NULL, 0 }),
	INFORMATION(COUNT, .count = { MOST32, MOST }),
	INFORMATION(GAP, .gap = { MOST, MOST, "the disk hung" }),
	INFORMATION(GAP, .gap = { 0, 0, NULL }),
	INFORMATION(NOTE, .note = "a \"sentence\"\n\x01"),
	INFORMATION(MEMORY, .memory = { INT32_MIN, "nginx: worker", { MOST, MOST, 1, 2, MOST, 4 } }),
	INFORMATION(MEMORY, .memory = { 1, NULL, { 0 } }),
	INFORMATION(RUNTIME, .runtime = "CPython"),
	INFORMATION(RUNTIME, .runtime = NULL),
	INFORMATION(NOTE, .note = NULL),
	INFORMATION(OLDER, .place = { .size = 24, .frees = 1, .bytes = 24 }),
	INFORMATION(OLDER, .place = { .size = MOST, .frees = MOST, .bytes = MOST, .span_us = MOST,
				      .points = example_points, .npoints = MMT_SERIES_POINTS }),
	INFORMATION(PLACE, .place = { 5, MOST, MOST, MOST, example_points, MMT_SERIES_POINTS, MOST }),
	INFORMATION(PLACE, .place = { MOST32, 0, 0, 0, example_points, 0, 0 }),
	INFORMATION(TOTALS, .totals = { MOST, MOST }),
	INFORMATION(VERDICTS, .look = &example_looks[0]),
	INFORMATION(VERDICTS, .look = &example_looks[1]),
	INFORMATION(JUDGED, .judged = { MMT_VERDICT_POSSIBLE, example_judged, 4 }),
	INFORMATION(JUDGED, .judged = { MOST32, example_judged, 0 }),
	INFORMATION(SAMPLE, .sample = { MOST32, &example_samples[0] }),
	INFORMATION(SAMPLE, .sample = { 5, &example_samples[1] }),
	INFORMATION(SAMPLE, .sample = { 0, &example_samples[2] }),
	INFORMATION(BUDGET, .budget = &example_budgets[0]),
	INFORMATION(BUDGET, .budget = &example_budgets[1]),
	INFORMATION(PROCESS, .process = &example_processes[0]),
	INFORMATION(PROCESS, .process = &example_processes[1]),
	INFORMATION(MERGED, .merged = { 5, &example_merged[0] }),
	INFORMATION(MERGED, .merged = { MOST32, &example_merged[1] }),
	INFORMATION(BINS, .bins = { MMT_BINS_AGES, 5, example_sums }),
	INFORMATION(BINS, .bins = { MOST32, 0, example_sums }),
	INFORMATION(SAID, .said = { "a note", MOST }),
	INFORMATION(SAID, .said = { NULL, 0 }),
	INFORMATION(HANG, .hang = { MOST32, MMT_VERDICT_DEFINITE, 5, 0, MOST, 1 }),
	{ .kind = MMT_INFO, .info = MMT_END },
};

#define FACT_EXAMPLES (sizeof(fact_examples) / sizeof(fact_examples[0]))

static inline uint64_t example_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Numbers of every length. */
static inline uint64_t example_number(uint64_t *state)
{
	uint64_t bits = example_random(state) % 65;

	return bits ? example_random(state) >> (64 - bits) : 0;
}

static inline void example_ref(uint64_t *state, struct fact *f)
{
	f->ref.addr = 0x7f0000000000 + example_random(state) % 1000 * 32;
	f->ref.stack = (uint32_t)(example_random(state) % EXAMPLE_STACKS);
	f->ref.by = example_number(state);
	f->ref.count = example_number(state);
}

static inline void example_object(uint64_t *state, struct fact *f)
{
	static struct fact_use uses[3];

	for (size_t i = 0; i < 3; i++)
		uses[i] = (struct fact_use){
			(uint32_t)(example_random(state) % EXAMPLE_STACKS),
			example_number(state),
			example_number(state),
		};
	f->object.addr = example_number(state);
	f->object.birth_us = example_number(state);
	f->object.net = (int64_t)example_number(state);
	f->object.older = example_random(state) % 2;
	f->object.counted = example_random(state) % 2;
	f->object.uses = uses;
	f->object.nuses = (uint32_t)(example_random(state) % 4);
}

/* An event on small stacks; its time is later than *@time_us now and then. */
static inline struct fact example_event(uint64_t *state, uint64_t *time_us)
{
	struct fact f = { .kind = 1 + (uint32_t)(example_random(state) % MMT_OBJECT) };

	*time_us += example_random(state) % 4 ? 0 : example_random(state) % 1000;
	f.time_us = *time_us;
	if (f.kind == MMT_FAMILY) {
		f.family = (uint32_t)(example_random(state) % 4);
		return f;
	}
	if (f.kind >= MMT_REF) {
		f.kind == MMT_OBJECT ? example_object(state, &f) : example_ref(state, &f);
		return f;
	}
	f.block.addr = example_random(state) % 4 ? 0x7f0000000000 + example_random(state) % 10000 * 16
						 : example_number(state);
	f.block.size = example_number(state);
	f.block.key = example_number(state);
	f.block.birth_us = example_number(state);
	f.block.stack = (uint32_t)(example_random(state) % EXAMPLE_STACKS);
	f.block.first = (uint32_t)(example_random(state) % EXAMPLE_STACKS);
	f.block.alloc = (uint32_t)(example_random(state) % EXAMPLE_STACKS);
	return f;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * random_run: a run of blocks and objects at random, cut into pieces at random places; and the state of a
 * ledger that got it whole. There are few numbers and addresses, so that all combinations occur.
 */
#ifndef RANDOM_RUN_H
#define RANDOM_RUN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "report/ledger/ledger.h"
#include "report/tracefiles/runfacts.h"
#include "trace/writer.h"

#define STACKS 20
#define FAMILIES 5		/* two of these are of objects */
#define ADDRESSES 60
#define KEYS 5
#define PIECES_MAX 5

static char folder[] = "/tmp/mm-run-XXXXXX";
static uint64_t rng;

static uint64_t rnd(uint64_t below)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng % below;
}

/* --- a run --- */

struct run {
	struct defs defs;
	struct ledger whole;		/* gets every fact directly */
	struct writer *w;		/* of the current piece */
	char paths[PIECES_MAX][80];
	uint32_t npieces, piece;
	uint64_t now, step;
	uint32_t family;
	bool held[FAMILIES][ADDRESSES];
	struct aside { bool open; uint32_t family; uint64_t k; bool held; } aside[KEYS];
	uint64_t events, ring, hits;
	struct judgement {
		uint32_t family;
		enum verdict verdict;
		struct fact_judged its;
	} judged[FAMILIES * (ADDRESSES + KEYS)];
	size_t njudged, told;		/* verdicts of a snapshot; how many of them were put */
	uint32_t looks;
	/*
	 * state of the random numbers for samples: a separate one, so that samples change nothing else in a
	 * run
	 */
	uint64_t samples;
};

static void put(struct run *r, struct fact f)
{
	f.time_us = r->now;
	assert_int_equal(ledger_take(&r->whole, &f), 0);
	assert_int_equal(writer_put(r->w, &f), 0);
}

static struct fact info(uint32_t what)
{
	return (struct fact){ .kind = MMT_INFO, .info = what };
}

static void define(struct run *r, struct fact f)
{
	assert_int_equal(defs_take(&r->defs, &f), 0);
	assert_int_equal(ledger_take(&r->whole, &f), 0);
}

static bool is_of_objects(uint32_t family)
{
	return family >= 3;
}

/* Stack i: a chain of i % 4 frames, the outer ones shared. The order of the numbers is unusual. */
static void define_all(struct run *r)
{
	static const struct fact_name names[] = { { "inner", "_Z5inner", "a.c", 3, true },
						  { "outer", NULL, NULL, 0, false } };

	static const char *const families[FAMILIES] = { "libc", "pool", "fd", "dict", "inode" };
	static const char *const tags[] = { "first", "second" };

	for (uint32_t i = 0; i < 2; i++) {
		struct fact f = info(MMT_TAG);
		f.tag.number = i;
		f.tag.text = tags[i];
		define(r, f);
	}
	for (uint32_t i = 0; i < FAMILIES; i++) {
		struct fact f = info(MMT_FAMILY_NAME);
		f.family_name.number = i;
		f.family_name.name = families[i];
		f.family_name.refs = is_of_objects(i);
		f.family_name.noun = i == 4 ? "inode" : NULL;
		define(r, f);
	}
	struct fact module = info(MMT_MODULE);
	module.module.path = "/bin/x";
	module.module.build_id = "ab";
	define(r, module);
	for (uint32_t i = 0; i < STACKS; i++) {
		struct fact frame = info(MMT_FRAME), node = info(MMT_NODE), stack = info(MMT_STACK),
			    its = info(MMT_NAMES);

		frame.frame.number = i;
		frame.frame.module = i % 5 ? 1 : FACT_NONE;
		frame.frame.pc = 0x1000 + i / 2;
		frame.frame.exact = i % 2;
		frame.frame.skip = i % 3 == 1;
		define(r, frame);
		node.node.number = i + 1;
		node.node.caller = i % 4 ? i : 0;
		node.node.frame = i;
		define(r, node);
		stack.stack.number = i;
		stack.stack.node = i % 7 ? i + 1 : 0;
		stack.stack.end = i % 3;
		stack.stack.tag = i / 2 % 3;
		define(r, stack);
		if (i % 3 == 0)
			continue;
		its.names.frame = i;
		its.names.all = names;
		its.names.n = i % 3;
		define(r, its);
	}
}

static int put_both(struct run *r, struct writer *w, struct fact *f)
{
	int err = ledger_take(&r->whole, f);

	return err ? err : writer_put(w, f);
}

static int put_head(void *ctx, struct writer *w, uint32_t piece)
{
	static const char *const argv[] = { "svc", "" };
	struct run *r = ctx;
	struct fact run = info(MMT_RUN), target = info(MMT_TARGET), probe = info(MMT_PROBE),
		    skip = info(MMT_SKIP);
	int err;

	(void)piece;
	run.time_us = target.time_us = probe.time_us = skip.time_us = r->now;
	run.run = (struct fact_run){
		.id = { 1, 2, 3 }, .piece = r->npieces > 1 ? r->piece + 1 : 0, .start_ns = 77,
		.frontend = "ptrace",
		.mode = "exact", .writer = "test",
	};
	target.target.pid = 5;
	target.target.comm = "svc";
	target.target.argv = argv;
	target.target.argc = 2;
	probe.probe.number = 3;
	probe.probe.rule = "alloc malloc";
	skip.skip = "xmalloc";
	err = put_both(r, w, &run);
	if (!err)
		err = put_both(r, w, &target);
	if (!err)
		err = put_both(r, w, &probe);
	if (!err)
		err = put_both(r, w, &skip);
	return err ? err : runfacts_put_verdicts(&r->whole, 0, r->now, w);
}

static void begin_piece(struct run *r)
{
	struct writer_options opt = {
		.path = r->paths[r->piece], .defs = &r->defs, .run_tag = 5, .begin = put_head, .ctx = r,
	};

	snprintf(r->paths[r->piece], sizeof(r->paths[0]), "%s/%u.mmt", folder, r->piece);
	assert_int_equal(writer_open(&opt, &r->w), 0);
	/* the family stays in force */
	put(r, (struct fact){ .kind = MMT_FAMILY, .family = r->family });
}

static void end_piece(struct run *r)
{
	assert_int_equal(writer_put_names(r->w), 0);
	assert_int_equal(writer_close(r->w), 0);
	r->piece++;
}

/* --- events --- */

static taddr address(uint64_t k)
{
	return 0x7f0000000000 + 48 * k;
}

static uint32_t any_stack_or_none(void)
{
	return rnd(3) ? 1 + (uint32_t)rnd(STACKS) : FACT_NONE;
}

static void put_alloc(struct run *r, uint64_t k)
{
	struct fact f = { .kind = MMT_ALLOC,
			  .block = {
				  .addr = address(k), .size = rnd(5000), .stack = (uint32_t)rnd(STACKS) } };

	if (rnd(50) == 0)
		f.block.size <<= 32;
	r->held[r->family][k] = true;
	put(r, f);
}

static void put_release(struct run *r, uint64_t k)
{
	struct fact f = { .kind = rnd(2) ? MMT_FREE : MMT_FREE_AT, .block = { .addr = address(k) } };

	f.block.stack = f.kind == MMT_FREE_AT ? (uint32_t)rnd(STACKS) : 0;
	r->held[r->family][k] = false;
	put(r, f);
}

static uint64_t sample_rnd(struct run *r, uint64_t below)
{
	r->samples = r->samples * 6364136223846793005u + 1442695040888963407u;
	return (r->samples >> 33) % below;
}

/* Its size is known, or not. */
static void put_older(struct run *r)
{
	struct fact f = info(MMT_OLDER);

	if (sample_rnd(r, 3) == 0)
		return;
	f.place.size = f.place.bytes = sample_rnd(r, sample_rnd(r, 9) ? 300 : 1 << 20);
	f.place.frees = 1;
	put(r, f);
}

static void put_unheld(struct run *r, uint64_t k)
{
	struct fact f = { .kind = rnd(2) ? MMT_OLD : MMT_TWICE,
			  .block = { .addr = address(k), .stack = any_stack_or_none() } };

	if (f.kind == MMT_TWICE) {
		f.block.stack = 1 + (uint32_t)rnd(3);
		f.block.first = (uint32_t)rnd(3);
		f.block.alloc = (uint32_t)rnd(2);
		f.block.size = rnd(5) ? 0 : rnd(10);
	}
	put(r, f);
	if (f.kind == MMT_OLD)
		put_older(r);
}

static void begin_aside(struct run *r, uint64_t k, uint64_t key)
{
	const struct fact f = { .kind = MMT_ASIDE, .block = { .addr = address(k), .key = key } };

	r->aside[key] = (struct aside){ true, r->family, k, r->held[r->family][k] };
	r->held[r->family][k] = false;
	put(r, f);
}

/* If its address was allocated again, a block cannot come back. */
static void end_aside(struct run *r, uint64_t key)
{
	struct aside *a = &r->aside[key];
	bool *held = &r->held[a->family][a->k];
	bool back = !*held && rnd(2);
	const struct fact f = { .kind = back ? MMT_ASIDE_BACK : MMT_ASIDE_FREED, .block = { .key = key } };

	if (back)
		*held = a->held;
	a->open = false;
	put(r, f);
}

/* Now and then the end of a call is lost. */
static void put_aside(struct run *r, uint64_t k, uint64_t key)
{
	if (r->aside[key].open && rnd(10))
		end_aside(r, key);
	else
		begin_aside(r, k, key);
}

/* Of a stack of the family, or the run's budget. */
static void put_sample(struct run *r)
{
	struct fact_sample its = {
		.seen = sample_rnd(r, 1000), .usable_bytes = sample_rnd(r, 99999),
		.site_seen = sample_rnd(r, 2000), .site_hits = sample_rnd(r, 2000),
		.rounds = sample_rnd(r, 99), .exposed_us = sample_rnd(r, 1000000),
		.exposed2 = sample_rnd(r, 99999), .standing = sample_rnd(r, 2),
		.nsteps = (uint32_t)sample_rnd(r, MMT_SAMPLE_STEPS + 1),
		.late_exposed_us = sample_rnd(r, 99999), .missed = sample_rnd(r, 99),
		.stood_us = sample_rnd(r, 9999), .searched = sample_rnd(r, 99), .lost = sample_rnd(r, 9),
		.losing = { sample_rnd(r, 99), sample_rnd(r, 9), sample_rnd(r, 2) * 1000, sample_rnd(r, 99),
			    sample_rnd(r, 9), sample_rnd(r, 999), sample_rnd(r, 9999) },
	};
	const struct fact_budget budget = { .promise_ppm = 10000, .spent_us = sample_rnd(r, 99),
					    .wall_us = r->now, .unfound = sample_rnd(r, 9),
					    .loss = { sample_rnd(r, 2) * 1000, sample_rnd(r, 9), sample_rnd(r, 999),
						      sample_rnd(r, 9), sample_rnd(r, 999) } };
	struct fact f = info(MMT_BUDGET);

	for (uint32_t i = 0; i < its.nsteps; i++)
		its.steps[i] = (struct fact_step){ sample_rnd(r, 200), sample_rnd(r, 9), sample_rnd(r, 9) };
	f.budget = &budget;
	if (!is_of_objects(r->family)) {
		f.info = MMT_SAMPLE;
		f.sample.stack = (uint32_t)sample_rnd(r, STACKS);
		f.sample.its = &its;
	}
	put(r, f);
}

/* The same process again and again, and children; a moment may occur twice. */
static void put_memory(struct run *r)
{
	struct fact f = info(MMT_MEMORY);

	if (sample_rnd(r, 20) == 0) {
		f.info = MMT_RUNTIME;
		f.runtime = sample_rnd(r, 2) ? "CPython" : "Go";
		put(r, f);
		return;
	}
	f.memory.pid = (int32_t)(sample_rnd(r, 4) ? 1 : sample_rnd(r, 5));
	f.memory.name = sample_rnd(r, 2) ? "worker" : NULL;
	f.memory.point = (struct memory_point){ r->now / 2,	  sample_rnd(r, 99999), sample_rnd(r, 999),
						sample_rnd(r, 9), sample_rnd(r, 9),	sample_rnd(r, 9),
						sample_rnd(r, 99999), sample_rnd(r, 9), sample_rnd(r, 9),
						sample_rnd(r, 99) };
	put(r, f);
}

static void put_number(struct run *r)
{
	struct fact f = info(MMT_COUNT);

	if (sample_rnd(r, 4) == 0) {
		put_memory(r);
		return;
	}
	switch (rnd(5)) {
	case 0:
		f.count.which = MMT_COUNT_EVENTS;
		f.count.value = r->events += rnd(10);
		break;
	case 1:
		f = info(MMT_LOST);
		f.lost.reason = rnd(2) ? "ring full" : "size not read";
		f.lost.count = r->ring += rnd(3);
		break;
	case 2:
		f = info(MMT_HITS);
		f.hits.probe = 3;
		f.hits.hits = r->hits += rnd(100);
		break;
	case 3:
		f = info(MMT_GAP);
		f.gap.start_us = r->now;
		f.gap.length_us = rnd(1000);
		f.gap.why = "dropped";
		break;
	default:
		f = info(MMT_NOTE);
		f.note = rnd(2) ? "something" : "else";
	}
	put(r, f);
}

static void put_forget(struct run *r, uint64_t k)
{
	put(r, (struct fact){ .kind = MMT_FORGET, .block = { .addr = address(k) } });
}

/* The object's own count may be anything, and so may the references seen. */
static void put_ref(struct run *r, uint64_t k)
{
	static const uint32_t kinds[] = { MMT_REF,   MMT_REF,	MMT_REF,  MMT_UNREF,
					  MMT_UNREF, MMT_UNREF, MMT_BORN, MMT_COUNTED };
	struct fact f = { .kind = kinds[rnd(rnd(4) ? 6 : 8)], .ref = { .addr = address(k) } };

	if (f.kind == MMT_COUNTED) {
		f.ref.count = rnd(4);
	} else {
		f.ref.stack = (uint32_t)rnd(STACKS);
		f.ref.by = rnd(8) ? 1 : rnd(4);
		f.ref.count = r->family == 4 && rnd(3) ? 1 + rnd(4) : FACT_NONE;
	}
	put(r, f);
}

static void put_block(struct run *r, uint64_t k, uint64_t what)
{
	if (what < 40)
		put_alloc(r, k);
	else if (what < 75)
		put_release(r, k);
	else if (what < 80)
		put_unheld(r, k);
	else
		put_aside(r, k, rnd(KEYS));
}

/* --- verdicts --- */

static void add_judgement(struct run *r, uint32_t family, taddr addr)
{
	struct judgement *j = &r->judged[r->njudged++];

	*j = (struct judgement){ family,
				 (enum verdict)(1 + rnd(VERDICT_COUNT - 1)),
				 { addr, rnd(2) ? rnd(5) : 0, 0 } };
	j->its.with_bytes = j->its.with_blocks * rnd(100);
}

/* All live blocks, and those that are just being resized. */
static void judge_all(struct run *r)
{
	struct live_block b;
	uint64_t key;
	void *value;
	taddr addr;

	r->njudged = r->told = 0;
	for (uint32_t i = 0; i < r->whole.nbooks; i++)
		for (size_t at = 0; live_next(r->whole.books[i].live, &at, &addr, &b);)
			add_judgement(r, i, addr);
	for (size_t at = 0; addrmap_next(&r->whole.aside, &at, &key, &value);) {
		const struct ledger_aside *a = value;

		if (a->held && !ledger_holds(&r->whole, a->family, a->addr, NULL))
			add_judgement(r, a->family, a->addr);
	}
}

static void tell_judgements(struct run *r, size_t until)
{
	for (; r->told < until; r->told++) {
		const struct judgement *j = &r->judged[r->told];
		struct fact f = info(MMT_JUDGED);

		f.judged.verdict = j->verdict;
		f.judged.all = &j->its;
		f.judged.n = 1;
		put(r, (struct fact){ .kind = MMT_FAMILY, .family = j->family });
		put(r, f);
	}
	put(r, (struct fact){ .kind = MMT_FAMILY, .family = r->family });
}

/* Now and then one verdict is missing. */
static void begin_look(struct run *r)
{
	static const char *const doubts[] = { "swapped", "a thread ran" };
	const struct fact_sum sums[VERDICT_COUNT] = {
		{ 0, 0 }, { rnd(10), rnd(10) }, { 1, 2 }, { 3, 4 }, { 5, rnd(10) }
	};
	struct fact_verdicts look = {
		.number = ++r->looks, .known = rnd(5), .census = rnd(2), .allocator = rnd(2) ? "glibc" : NULL,
		.had_ns = rnd(1000),
		.threads = 3, .sums = sums, .nsums = VERDICT_COUNT, .doubts = doubts,
		.ndoubts = (uint32_t)rnd(3),
	};
	struct fact f = info(MMT_VERDICTS);

	judge_all(r);
	look.judged = r->njudged + (rnd(4) == 0);
	if (!look.known) {
		look.why_not = "no";
		r->njudged = 0;
	}
	f.look = &look;
	put(r, f);
}

static void put_look(struct run *r)
{
	begin_look(r);
	tell_judgements(r, r->njudged);
}

static void put_any(struct run *r)
{
	uint64_t k = rnd(ADDRESSES), what = rnd(100);

	r->now += rnd(r->step);
	if (rnd(200) == 0)
		put_look(r);
	if (sample_rnd(r, 20) == 0)
		put_sample(r);
	if (what < 91 && is_of_objects(r->family))
		put_ref(r, k % 30);
	else if (what < 91)
		put_block(r, k, what);
	else if (what < 93)
		put_forget(r, k);
	else if (what < 96)
		put(r, (struct fact){ .kind = MMT_FAMILY, .family = r->family = (uint32_t)rnd(FAMILIES) });
	else
		put_number(r);
}

static void run_init(struct run *r, uint32_t npieces)
{
	*r = (struct run){ .npieces = npieces, .step = 1 };
	defs_init(&r->defs);
	assert_int_equal(ledger_init(&r->whole), 0);
	define_all(r);
}

/* Each piece has between zero and some hundred events. */
static void make_run(struct run *r, uint64_t seed)
{
	rng = seed;
	run_init(r, 1 + (uint32_t)(seed % PIECES_MAX));
	r->step = 1 + rnd(1 + rnd(200000));
	while (r->piece < r->npieces) {
		uint64_t n = rnd(4) ? rnd(300) : 0;

		begin_piece(r);
		tell_judgements(r, r->njudged);
		while (n--)
			put_any(r);
		/* a piece may end in the middle of the verdicts */
		if (rnd(3) == 0) {
			begin_look(r);
			tell_judgements(r, r->piece + 1 < r->npieces ? rnd(r->njudged + 1) : r->njudged);
		}
		if (r->piece + 1 == r->npieces)
			put(r, info(MMT_END));
		end_piece(r);
	}
}

static void run_fini(struct run *r)
{
	defs_fini(&r->defs);
	ledger_fini(&r->whole);
}

#endif

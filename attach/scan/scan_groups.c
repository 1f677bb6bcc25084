/* SPDX-License-Identifier: MIT */
/*
 * scan_groups: see scan_groups.h. There may be twenty million blocks, so there are only two passes over them:
 *
 *	of_block	finds each block's group by its stack, class, or size
 *	blocks		adds each block to its group, and indirectly lost ones to that of their leader, too; or
 *			these are withheld, if the leak of their leader is suppressed (report/groups/withheld.h)
 *
 * After that only groups are handled: rare sizes join their range, names, filters, the report. Groups of
 * sizes that the allocator itself separates (up to SMALL) are found by a table, all others by a hash.
 */
#include "attach/scan/scan_groups.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/scan/scan_content.h"
#include "base/addrmap.h"
#include "base/grow.h"

#define SMALL 1032u		/* the largest size for which glibc has a free list of its own (tcache) */
#define STEP 8u
#define MANY 16			/* this many blocks of one size are worth a group */
#define FIRST 4			/* this many samples are the first blocks of a group; the others are spread */

enum group_kind { BY_SIZE, BY_RANGE, BY_CLASS, BY_STACK };

struct scan_group {
	enum group_kind kind;
	enum verdict verdict;
	uint64_t value;			/* the size, the range's number, the class, the stack */
	uint64_t blocks, bytes;
	uint64_t indirect_blocks, indirect_bytes;
	uint64_t low, high;		/* of the sizes */
	size_t samples[SCAN_SAMPLES];	/* blocks */
	size_t nsamples;
	bool joined;			/* it has become part of a range's group */
	/* indirectly lost blocks that are suppressed with their leaks, and the first one's suppression */
	uint64_t withheld_blocks, withheld_bytes;
	size_t withheld_by;
	bool looked_up;			/* whether it is suppressed, */
	size_t entry;			/* and by which suppression */
};

struct maker {
	struct scan *sc;
	struct scan_group *all;
	size_t n, room;
	uint32_t small[VERDICT_COUNT][SMALL / STEP + 1];	/* group + 1; 0: none yet */
	struct addrmap others;		/* key of kind, verdict and value -> group */
	uint32_t *of_block;
};

/* --- groups --- */

static int new_group(struct maker *mk, enum group_kind kind, enum verdict v, uint64_t value, uint32_t *out)
{
	if (mk->n >= UINT32_MAX - 1 ||
	    grow_for(&mk->all, mk->n, &mk->room, sizeof(*mk->all)) < 0)
		return -ENOMEM;
	mk->all[mk->n] =
		(struct scan_group){ .kind = kind, .verdict = v, .value = value, .low = UINT64_MAX };
	*out = (uint32_t)mk->n++;
	return 0;
}

static int small_group(struct maker *mk, enum verdict v, uint64_t size, uint32_t *out)
{
	uint32_t *slot = &mk->small[v][size / STEP];
	int r = 0;

	if (!*slot) {
		r = new_group(mk, BY_SIZE, v, size / STEP * STEP, out);
		*slot = r == 0 ? *out + 1 : 0;
	}
	*out = *slot - 1;
	return r;
}

static int other_group(struct maker *mk, enum group_kind kind, enum verdict v, uint64_t value, uint32_t *out)
{
	uint64_t key = (uint64_t)kind << 60 | (uint64_t)v << 56 | (value & (UINT64_MAX >> 8));
	bool fresh;
	uint32_t *slot = addrmap_slot(&mk->others, key, &fresh);
	int r = 0;

	if (!slot)
		return -ENOMEM;
	if (fresh) {
		r = new_group(mk, kind, v, value, out);
		if (r == 0)
			*slot = *out;
	}
	*out = *slot;
	return r;
}

static void count_watched(struct scan_trace *t, enum scan_watched_is is)
{
	t->same += is == SCAN_WATCHED_SAME || is == SCAN_WATCHED_CERTAIN;
	t->certain += is == SCAN_WATCHED_CERTAIN;
	t->resized += is == SCAN_WATCHED_RESIZED;
}

static int find_group(struct maker *mk, size_t i, uint32_t *out)
{
	const struct block *b = &mk->sc->blocks[i];
	enum verdict v = scan_verdict(mk->sc, i);
	enum scan_watched_is is;
	uint32_t stack = scan_watched_stack(&mk->sc->watched, b, &is), class;

	count_watched(&mk->sc->report.trace, is);
	if (stack != SCAN_NO_STACK)
		return other_group(mk, BY_STACK, v, stack, out);
	class = scan_class_of(mk->sc, i);
	if (class != CLASS_NONE)
		return other_group(mk, BY_CLASS, v, class, out);
	return b->size <= SMALL ? small_group(mk, v, b->size, out)
				: other_group(mk, BY_SIZE, v, b->size, out);
}

/*
 * After the first ones, the samples are the blocks whose number in the group is a power of two: these are far
 * apart.
 */
static void take_sample(struct scan_group *d, size_t i)
{
	if (d->nsamples < SCAN_SAMPLES)
		d->samples[d->nsamples++] = i;
	else if ((d->blocks & (d->blocks - 1)) == 0)
		d->samples[FIRST + (unsigned)__builtin_ctzll(d->blocks) % (SCAN_SAMPLES - FIRST)] = i;
}

static void add_block(struct maker *mk, struct scan_group *d, size_t i)
{
	uint64_t size = mk->sc->blocks[i].size;

	d->blocks++;
	d->bytes += size;
	d->low = size < d->low ? size : d->low;
	d->high = size > d->high ? size : d->high;
	histogram_add(&mk->sc->report.summary.sizes, size, 1, size);
	take_sample(d, i);
}

static int find_groups(struct maker *mk)
{
	int r = 0;

	for (size_t i = 0; i < mk->sc->nblocks && r == 0; i++)
		r = find_group(mk, i, &mk->of_block[i]);
	return r;
}

/* --- what is suppressed with its leak --- */

static size_t entry_of(const struct scan *sc, const struct scan_group *d, const struct stack_view *stack)
{
	return suppressions_find(sc->reporting.suppressions, SUPPRESS_LEAK, d->verdict, stack->frames,
				 stack->depth);
}

/* Which suppression matches the group? Found once. */
static int look_up(struct maker *mk, struct scan_group *d)
{
	struct stack_view stack = { 0 };
	int r = 0;

	if (d->looked_up)
		return 0;
	d->looked_up = true;
	d->entry = SUPPRESSIONS_NONE;
	if (d->kind == BY_STACK)
		r = scan_watched_expand(&mk->sc->watched, (uint32_t)d->value, &stack);
	if (r == 0 && stack.depth)
		d->entry = entry_of(mk->sc, d, &stack);
	free(stack.frames);
	return r;
}

/* @d's block is lost with one of @leak. *@entry: the suppression that is a reason to withhold it, or none. */
static int withhold(struct maker *mk, struct scan_group *d, struct scan_group *leak, size_t *entry)
{
	int r = look_up(mk, leak);

	if (r == 0)
		r = look_up(mk, d);
	*entry = d->entry == SUPPRESSIONS_NONE ? leak->entry : SUPPRESSIONS_NONE;
	return r;
}

static void add_withheld(struct maker *mk, struct scan_group *d, size_t i, size_t entry)
{
	const uint64_t size = mk->sc->blocks[i].size;

	if (!d->withheld_blocks)
		d->withheld_by = entry;
	d->withheld_blocks++;
	d->withheld_bytes += size;
	histogram_add(&mk->sc->report.summary.sizes, size, 1, size);
	suppressions_count(mk->sc->reporting.suppressions, entry, 0, 1, size);
}

/* --- blocks --- */

/* The block with which block @i is lost, or @i itself. */
static size_t leader_of(const struct scan *sc, size_t i)
{
	if (!sc->report.summary.run.verdicts.known || sc->reach.verdict[i] != VERDICT_INDIRECT ||
	    sc->reach.leader[i] >= sc->nblocks)
		return i;
	return sc->reach.leader[i];
}

static int group_block(struct maker *mk, size_t i)
{
	const size_t leader = leader_of(mk->sc, i);
	struct scan_group *d = &mk->all[mk->of_block[i]], *leak = &mk->all[mk->of_block[leader]];
	size_t entry = SUPPRESSIONS_NONE;
	int r = 0;

	if (leader != i) {
		leak->indirect_blocks++;
		leak->indirect_bytes += mk->sc->blocks[i].size;
		if (mk->sc->reporting.suppressions)
			r = withhold(mk, d, leak, &entry);
	}
	if (r == 0 && entry == SUPPRESSIONS_NONE)
		add_block(mk, d, i);
	else if (r == 0)
		add_withheld(mk, d, i, entry);
	return r;
}

static int group_blocks(struct maker *mk)
{
	int r = find_groups(mk);

	for (size_t i = 0; i < mk->sc->nblocks && r == 0; i++)
		r = group_block(mk, i);
	return r;
}

/* --- rare sizes --- */

/* The number of the range: its power of two. */
static unsigned range_of(uint64_t size)
{
	return 63 - (unsigned)__builtin_clzll(size | 1);
}

static void join(struct scan_group *to, struct scan_group *d)
{
	to->blocks += d->blocks;
	to->bytes += d->bytes;
	if (!to->withheld_blocks)
		to->withheld_by = d->withheld_by;
	to->withheld_blocks += d->withheld_blocks;
	to->withheld_bytes += d->withheld_bytes;
	to->indirect_blocks += d->indirect_blocks;
	to->indirect_bytes += d->indirect_bytes;
	to->low = d->low < to->low ? d->low : to->low;
	to->high = d->high > to->high ? d->high : to->high;
	for (size_t i = 0; i < d->nsamples && to->nsamples < SCAN_SAMPLES; i++)
		to->samples[to->nsamples++] = d->samples[i];
	d->joined = true;
}

static int join_rare(struct maker *mk)
{
	size_t n = mk->n;

	for (size_t i = 0; i < n; i++) {
		uint32_t range;
		int r;

		if (mk->all[i].kind != BY_SIZE || mk->all[i].value <= SMALL ||
		    mk->all[i].blocks >= MANY)
			continue;
		r = other_group(mk, BY_RANGE, mk->all[i].verdict, range_of(mk->all[i].value), &range);
		if (r < 0)
			return r;
		join(&mk->all[range], &mk->all[i]);
	}
	return 0;
}

/* --- names --- */

static void put_size(uint64_t size, char *out, size_t n)
{
	static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	unsigned unit = range_of(size) / 10;

	snprintf(out, n, "%" PRIu64 " %s", size >> (10 * unit), units[unit]);
}

const char *scan_size_label(uint64_t size, bool exact, char out[SCAN_SIZE_TEXT])
{
	char from[32], to[32] = "";
	unsigned range = range_of(size);

	if (exact) {
		snprintf(out, SCAN_SIZE_TEXT, "%" PRIu64 " bytes", size);
		return out;
	}
	put_size(1ull << range, from, sizeof(from));
	if (range < 63)
		put_size(1ull << (range + 1), to, sizeof(to));
	snprintf(out, SCAN_SIZE_TEXT, range < 63 ? "%s to %s" : "%s and more", from, to);
	return out;
}

/* --- into the report --- */

static void hide(struct summary_hidden *h, const struct scan_group *d)
{
	h->groups++;
	h->blocks += d->blocks;
	h->bytes += d->bytes;
}

/* --focus and --ignore match the name of a class as that of a function. */
static bool wanted(const struct scan *sc, const struct summary_group *g)
{
	const struct summary_frame named = { .function = g->kind.class_name, .module = g->kind.module };

	if (sc->opt->shown.verdicts && !(sc->opt->shown.verdicts >> g->verdict & 1))
		return false;
	if (g->bytes < sc->opt->shown.min_bytes)
		return false;
	return g->stack.depth ? select_wants(sc->reporting.select, g->stack.frames, g->stack.depth)
			      : select_wants(sc->reporting.select, &named, 1);
}

static void add_group(struct scan *sc, const struct scan_group *d, const struct summary_group *g)
{
	struct summary *s = &sc->report.summary;

	if (!wanted(sc, g))
		hide(&s->filtered, d);
	else if (g->stack.depth && suppressions_match(sc->reporting.suppressions, SUPPRESS_LEAK, g->verdict,
						      g->stack.frames, g->stack.depth, g->blocks, g->bytes))
		hide(&s->suppressed, d);
	else
		summary_add_group(s, g);
}

/* Describe the blocks of one size or class by its samples. */
static void describe(struct scan *sc, const struct scan_group *d, struct summary_group *g,
		     struct strbuf *content, char label[SCAN_SIZE_TEXT])
{
	if (d->kind == BY_CLASS) {
		g->kind.class_name = g->kind.label = classify_name(sc->classes, (uint32_t)d->value);
		g->kind.module = classify_module(sc->classes, (uint32_t)d->value);
		return;
	}
	if (d->kind == BY_RANGE)
		g->kind.label = scan_size_label(1ull << d->value, false, label);
	else if (d->kind == BY_SIZE)
		g->kind.label = scan_size_label(d->low, true, label);
	scan_content(sc, d->samples, d->nsamples, content);
	g->kind.content = content->len ? strbuf_str(content) : NULL;
}

static int expand(struct scan *sc, const struct scan_group *d, struct summary_group *g,
		  struct stack_view *stack)
{
	const struct ledger *l = &sc->watched.ledger;
	int r;

	if (d->kind != BY_STACK)
		return 0;
	r = scan_watched_expand(&sc->watched, (uint32_t)d->value, stack);
	if (r < 0)
		return r;
	if (sc->opt->shown.keep_wrappers)
		stack->wrappers = 0;
	g->stack = *stack;
	if (l->defs.stacks[d->value].tag != DEFS_NONE)
		g->tag = l->defs.tags[l->defs.stacks[d->value].tag].text;
	return 0;
}

static int report(struct scan *sc, const struct scan_group *d)
{
	cleanup_strbuf struct strbuf content = STRBUF_INIT;
	struct stack_view stack = { 0 };
	taddr samples[SCAN_SAMPLES];
	char label[SCAN_SIZE_TEXT];
	struct summary_group g = {
		.family = "libc", .blocks = d->blocks, .bytes = d->bytes, .verdict = d->verdict,
		.samples = samples,
		.bytes_direct = d->verdict == VERDICT_INDIRECT ? 0 : d->bytes, .nsamples = d->nsamples,
		.kind = { .size_low = d->low, .size_high = d->high, .indirect_blocks = d->indirect_blocks,
			  .indirect_bytes = d->indirect_bytes },
	};
	int r = expand(sc, d, &g, &stack);

	for (size_t i = 0; i < d->nsamples; i++)
		samples[i] = sc->blocks[d->samples[i]].addr;
	if (r == 0) {
		describe(sc, d, &g, &content, label);
		add_group(sc, d, &g);
		r = strbuf_error(&content);
	}
	free(stack.frames);
	return r;
}

static void add_sums(struct scan *sc, const struct scan_group *d)
{
	const uint64_t blocks = d->blocks + d->withheld_blocks, bytes = d->bytes + d->withheld_bytes;
	struct summary_totals *t = &sc->report.summary.totals;
	struct summary_sum *watched = &sc->report.summary.run.verdicts.watched[d->verdict];

	if (d->kind == BY_STACK && sc->report.summary.run.verdicts.known) {
		watched->blocks += blocks;
		watched->bytes += bytes;
	}
	sc->report.summary.run.verdicts.all[d->verdict].blocks += blocks;
	sc->report.summary.run.verdicts.all[d->verdict].bytes += bytes;
	t->live_blocks += blocks;
	t->live_bytes += bytes;
}

static void hide_withheld(struct scan *sc, const struct scan_group *d)
{
	struct summary_hidden *h = &sc->report.summary.suppressed;

	if (!d->withheld_blocks)
		return;
	h->groups++;
	h->blocks += d->withheld_blocks;
	h->bytes += d->withheld_bytes;
	suppressions_count(sc->reporting.suppressions, d->withheld_by, 1, 0, 0);
}

static int make(struct maker *mk)
{
	int r = group_blocks(mk);

	if (r == 0)
		r = join_rare(mk);
	for (size_t i = 0; i < mk->n && r == 0; i++) {
		if (mk->all[i].joined)
			continue;
		add_sums(mk->sc, &mk->all[i]);
		hide_withheld(mk->sc, &mk->all[i]);
		if (mk->all[i].blocks)
			r = report(mk->sc, &mk->all[i]);
	}
	return r;
}

int scan_groups_add(struct scan *sc)
{
	struct maker *mk = calloc(1, sizeof(*mk));
	int r = -ENOMEM;

	if (!mk)
		return r;
	mk->sc = sc;
	addrmap_init(&mk->others, sizeof(uint32_t));
	mk->of_block = calloc(sc->nblocks + 1, sizeof(*mk->of_block));
	if (mk->of_block)
		r = make(mk);
	if (sc->reporting.suppressions)
		suppressions_report(sc->reporting.suppressions, &sc->report.summary);
	scan_sort(&sc->report);
	addrmap_fini(&mk->others);
	free(mk->of_block);
	free(mk->all);
	free(mk);
	return r;
}

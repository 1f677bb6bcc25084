/* SPDX-License-Identifier: MIT */
/* merge_one: see merge_one.h. */
#include "report/merge/merge_one.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/strbuf.h"
#include "trace/endnote.h"

#define BEING_RESIZED \
	"some blocks were being resized when the watch ended: they are listed as they were before"
#define NO_OBJECTS \
	"objects with references are not listed: of several processes only the calls are counted"

/* Bytes that were allocated in each span, by group. */
struct births {
	uint64_t (*points)[MMT_SERIES_POINTS];
	size_t n, size;
};

/* --- blocks --- */

static int make_births(struct births *b, size_t index)
{
	if (grow_for(&b->points, index, &b->size, sizeof(*b->points)) < 0)
		return -ENOMEM;
	for (; b->n <= index; b->n++)
		memset(b->points[b->n], 0, sizeof(b->points[b->n]));
	return 0;
}

static int add_block(struct ledger *l, uint32_t family, taddr addr, const struct live_block *b,
		     struct births *births)
{
	struct merged_group *g = merged_group(&l->merged, family, b->stack, ledger_verdict(l, b), l->now_us);
	const uint64_t weight = ledger_weight(l, addr, b), span = b->birth_us / series_span(l->now_us),
		       age = ledger_age_us(l, b->birth_us);
	const struct merged_group one = { .blocks = weight, .bytes = weight * b->size, .oldest_us = age,
					  .youngest_us = age };
	size_t index = g ? (size_t)(g - l->merged.groups) : 0;

	if (!g || make_births(births, index) < 0)
		return -ENOMEM;
	merged_group_add(g, &one);
	if (l->run.sample_bytes)
		byte_sample_add(&g->sample_of, l->run.sample_bytes, b->size);
	if (span < MMT_SERIES_POINTS)
		births->points[index][span] += one.bytes;
	return 0;
}

static int add_to_bins(struct ledger *l, uint32_t family, taddr addr, const struct live_block *b)
{
	struct merged_bins *bins = merged_bins(&l->merged, family);
	const uint64_t weight = ledger_weight(l, addr, b);

	if (!bins)
		return -ENOMEM;
	histogram_add(&bins->sizes, b->size, weight, weight * b->size);
	histogram_add(&bins->ages, ledger_age_us(l, b->birth_us), weight, weight * b->size);
	return 0;
}

static int add_blocks(struct ledger *l, uint32_t family, struct births *births)
{
	struct live_block b;
	taddr addr;
	int r = 0;

	for (size_t at = 0; r == 0 && live_next(l->books[family].live, &at, &addr, &b);) {
		r = add_block(l, family, addr, &b, births);
		if (r == 0)
			r = add_to_bins(l, family, addr, &b);
	}
	return r;
}

/* In a sample by bytes what is lost with a block is counted where it was allocated. */
static int add_leaders(struct ledger *l)
{
	struct verdict_place place = { 0 };
	struct verdict_block j;
	struct live_block b;

	while (!l->run.sample_bytes && ledger_next_leader(l, &place, &j, &b)) {
		struct merged_group *g = merged_group(&l->merged, j.family, b.stack, j.verdict, l->now_us);

		if (!g)
			return -ENOMEM;
		g->indirect_blocks += j.with_blocks;
		g->indirect_bytes += j.with_bytes;
	}
	return 0;
}

/* The lost block at @addr, in any family; @family is searched first. */
static bool find_root(const struct ledger *l, uint32_t family, taddr addr, uint32_t *found,
		      struct live_block *b)
{
	for (uint32_t i = 0; i <= l->nbooks; i++) {
		*found = i ? i - 1 : family;
		if (ledger_holds(l, *found, addr, b) &&
		    (b->verdict == VERDICT_DEFINITE || b->verdict == VERDICT_POSSIBLE))
			return true;
	}
	return false;
}

static int group_index(struct ledger *l, uint32_t family, const struct live_block *b, uint32_t *out)
{
	struct merged_group *g = merged_group(&l->merged, family, b->stack, ledger_verdict(l, b), l->now_us);

	*out = g ? (uint32_t)(g - l->merged.groups) : 0;
	return g ? 0 : -ENOMEM;
}

static int add_hanging(struct ledger *l)
{
	struct verdict_place place = { 0 };
	struct verdict_block j;
	struct live_block b, on;
	uint32_t family;
	int r = 0;

	while (r == 0 && !l->run.sample_bytes && ledger_next_hanging(l, &place, &j, &b)) {
		struct merged_hang hang = { .blocks = 1, .bytes = b.size };

		if (!find_root(l, j.family, j.with_bytes, &family, &on))
			continue;
		r = group_index(l, family, &on, &hang.root);
		if (r == 0)
			r = group_index(l, j.family, &b, &hang.group);
		if (r == 0)
			r = merged_add_hang(&l->merged, &hang);
	}
	return r;
}

/* References have no sizes, and no process has more of them than another: only their sums are kept. */
static int add_references(struct ledger *l, uint32_t family)
{
	const struct ledger_book *book = &l->books[family];

	for (uint32_t i = 0; i < book->nplaces; i++) {
		struct merged_group *g;

		if (!book->places[i].blocks)
			continue;
		g = merged_group(&l->merged, family, i, VERDICT_UNKNOWN, l->now_us);
		if (!g)
			return -ENOMEM;
		g->blocks += book->places[i].blocks;
		g->bytes += book->places[i].bytes;
	}
	return 0;
}

/*
 * Sums of doubles depend on their order. Multiples of a power of two add up exactly, as long as they are not
 * too many; and this power is small beside the variance of one block.
 */
static void round_variances(struct byte_sample *s, uint64_t interval)
{
	const int bits = interval ? 2 * ilogb((double)interval) : 0;

	s->blocks_variance = ldexp(round(ldexp(s->blocks_variance, 42 - bits)), bits - 42);
	s->bytes_variance = ldexp(round(ldexp(s->bytes_variance, 20 - bits)), bits - 20);
}

static int finish_group(struct ledger *l, struct merged_group *g, uint64_t *births)
{
	int r;

	for (size_t i = 1; i < MMT_SERIES_POINTS; i++)
		births[i] += births[i - 1];
	round_variances(&g->sample_of, l->run.sample_bytes);
	r = g->births.n ? series_add(&g->births, series_span_us(&g->births), births, g->births.n) : 0;
	return r < 0 ? r : parts_add(&g->parts, 0, g->bytes);
}

static int add_live(struct ledger *l)
{
	struct births births = { 0 };
	int r = 0;

	for (uint32_t i = 0; i < l->nbooks && r == 0; i++)
		if (!l->defs.families[i].refs)
			r = add_blocks(l, i, &births);
	for (size_t i = 0; i < births.n && r == 0; i++)
		r = finish_group(l, &l->merged.groups[i], births.points[i]);
	free(births.points);
	if (r == 0)
		r = add_leaders(l);
	if (r == 0)
		r = add_hanging(l);
	for (uint32_t i = 0; i < l->nbooks && r == 0; i++)
		if (l->defs.families[i].refs)
			r = add_references(l, i);
	return r;
}

/* --- the process --- */

static uint64_t own_memory(const struct memory_point *p)
{
	return p->anonymous + p->shared + p->swapped;
}

static void see_memory(const struct ledger *l, struct fact_process *p)
{
	const struct memory_process *m = memories_of(&l->memories, l->target.pid);
	const struct memory_point *last = m ? &m->points[m->npoints - 1] : NULL;

	if (!m)
		return;
	p->resident = last->anonymous + last->file + last->shared;
	p->own_first = own_memory(&m->points[0]);
	p->own_last = own_memory(last);
}

static void see_losses(const struct ledger *l, struct fact_process *p)
{
	for (size_t i = 0; i < l->nlost; i++)
		p->lost += l->lost[i].count;
	p->gaps = l->ngaps;
	for (size_t i = 0; i < l->ngaps; i++)
		p->gaps_us += l->gaps[i].length_us;
	for (size_t i = 0; i < l->nnotes; i++)
		if (endnote_is(l->notes[i]))
			p->how = l->notes[i];
}

static void see_sums(const struct ledger *l, struct fact_sum *sums)
{
	for (size_t i = 0; i < l->merged.ngroups; i++) {
		const struct merged_group *g = &l->merged.groups[i];

		if (l->defs.families[g->family].refs)
			continue;
		sums[g->verdict].blocks += g->blocks;
		sums[g->verdict].bytes += g->bytes;
	}
}

static int add_process(struct ledger *l, const char *label)
{
	struct fact_sum sums[VERDICT_COUNT] = { 0 };
	struct fact_process p = {
		.pid = l->target.pid, .start_ns = l->run.start_ns, .ended = l->ended,
		.judged = ledger_has_verdicts(l), .comm = l->target.comm, .exe = l->target.exe,
		.host = l->run.host, .labels = label, .frontend = l->run.frontend, .mode = l->run.mode,
		.run_us = l->now_us, .allocs = l->allocs, .frees = l->frees, .live_blocks = l->held_blocks,
		.live_bytes = l->held_bytes, .events = l->counts[MMT_COUNT_EVENTS],
		.stopped_us = l->counts[MMT_COUNT_STOPPED_US], .thread_us = l->counts[MMT_COUNT_THREAD_US],
		.sums = sums, .nsums = VERDICT_COUNT,
	};

	/* all that a stop costs, as with one process (report/account.c) */
	if (l->samples.has_budget)
		p.stopped_us = l->samples.budget.spent_us;
	memcpy(p.run_id, l->run.id, sizeof(p.run_id));
	see_memory(l, &p);
	see_losses(l, &p);
	see_sums(l, sums);
	return ledger_add_process(l, &p);
}

/* --- notes --- */

/* How the target ended is in the line of its process, and so is that the trace has no end. */
static bool is_of_process(const struct ledger *l, size_t i)
{
	return endnote_is(l->notes[i]) || (i >= l->own_notes && i - l->own_notes < l->nown_notes);
}

static int say(struct ledger *l, const char *text)
{
	const char *kept = defs_string(&l->defs, text);
	int r = kept ? merged_say(&l->merged, kept, 1) : -ENOMEM;

	return r == -ENOSPC ? 0 : r;
}

static int add_notes(struct ledger *l)
{
	int r = 0;

	for (size_t i = 0; i < l->nnotes && r == 0; i++)
		if (!is_of_process(l, i))
			r = say(l, l->notes[i]);
	for (size_t i = 0; i < l->look.fact.ndoubts && r == 0; i++)
		r = say(l, l->look.fact.doubts[i]);
	if (r == 0 && l->look.wanted && l->look.fact.why_not && l->held_blocks)
		r = say(l, l->look.fact.why_not);
	if (r == 0 && l->resizing)
		r = say(l, BEING_RESIZED);
	for (uint32_t i = 0; i < l->nbooks && r == 0; i++)
		if (objects_count(l->books[i].objects))
			r = say(l, NO_OBJECTS);
	return r;
}

int merge_one(struct ledger *l, const char *label)
{
	int r = ledger_settle(l);

	if (r == 0)
		r = add_live(l);
	if (r == 0)
		r = add_process(l, label);
	if (r == 0)
		r = add_notes(l);
	l->nnotes = l->own_notes = l->nown_notes = 0;
	return r;
}

/* --- labels --- */

/* Has @labels a value for the key with which @label begins? */
static bool has_key(const char *labels, const char *label, size_t key)
{
	for (const char *at = labels; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (!strncmp(at, label, key) && at[key] == '=')
			return true;
	return false;
}

static void put_label(struct strbuf *sb, const char *labels, const char *label, size_t n)
{
	if (!n || has_key(labels, label, strcspn(label, "=")))
		return;
	strbuf_puts(sb, sb->len ? "," : "");
	strbuf_append(sb, label, n);
}

int merge_label(struct ledger *l, const char *label)
{
	for (size_t i = 0; label && i < l->merged.nprocesses; i++) {
		struct fact_process *p = &l->merged.processes[i].its;
		cleanup_strbuf struct strbuf sb = STRBUF_INIT;

		for (const char *at = label; *at; at += strcspn(at, ","), at += *at == ',')
			put_label(&sb, p->labels, at, strcspn(at, ","));
		if (p->labels && *p->labels) {
			strbuf_puts(&sb, sb.len ? "," : "");
			strbuf_puts(&sb, p->labels);
		}
		if (strbuf_error(&sb))
			return strbuf_error(&sb);
		p->labels = sb.len ? defs_string(&l->defs, strbuf_str(&sb)) : NULL;
		if (sb.len && !p->labels)
			return -ENOMEM;
	}
	return 0;
}

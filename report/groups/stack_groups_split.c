/* SPDX-License-Identifier: MIT */
/*
 * stack_groups_split: how each stack group of a path grew, if its blocks got several verdicts
 * (stack_groups_parts.h).
 *
 * The series of a path is counted during the run, the verdicts come at the end. A lost block was never freed,
 * so it was live since its birth: the live blocks show how the lost part grew. The remainder of the path's
 * series belongs to the parts whose blocks are allocated and freed. The blocks that are live at the end do
 * not show how such a part grew, since they are always young. If the remainder does not grow, none of these
 * parts does, and each gets a share of it. If it grows, the part with the most blocks gets what is left after
 * the live blocks of the other parts are subtracted.
 */
#include "report/groups/stack_groups_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/ledger/series.h"
#include "report/model/growth.h"

struct part {
	uint64_t points[MMT_SERIES_POINTS];
	uint64_t blocks, bytes;
};

static bool is_split(const struct stack_groups *ds, const struct stack_group *d)
{
	return ds->all[d->first].next != DEFS_NONE;
}

static bool any_is_split(const struct stack_groups *ds)
{
	for (size_t i = 0; i < ds->n; i++)
		if (ds->all[i].next != DEFS_NONE)
			return true;
	return false;
}

/* First the bytes born in each span, then the bytes live at its end. */
static void look_at_births(const struct stack_groups *ds, struct part *parts)
{
	const struct live *live = ds->ledger->books[ds->family].live;
	uint64_t span = series_span(ds->ledger->now_us);
	struct live_block b;
	taddr addr;

	for (size_t at = 0; live_next(live, &at, &addr, &b);) {
		size_t entry;
		const uint32_t of = ds->of_stack[stack_groups_slot_of_block(ds, addr, &b, &entry)];
		uint64_t weight;

		if (of == DEFS_NONE || !is_split(ds, &ds->all[of]))
			continue;
		weight = ledger_weight(ds->ledger, addr, &b);
		parts[of].blocks += weight;
		parts[of].bytes += weight * b.size;
		if (b.birth_us / span < MMT_SERIES_POINTS)
			parts[of].points[b.birth_us / span] += weight * b.size;
	}
	for (size_t i = 0; i < ds->n; i++)
		for (size_t at = 1; at < MMT_SERIES_POINTS; at++)
			parts[i].points[at] += parts[i].points[at - 1];
}

static uint64_t share(uint64_t n, uint64_t part, uint64_t whole)
{
	return (uint64_t)((unsigned __int128)n * part / whole);
}

/* Of @its, a part of @g, which is taken to have grown evenly in all its parts. */
static int add_merged(const struct stack_groups *ds, size_t slot, struct merged_group *g,
		      const struct summary_sum *its, struct part *parts)
{
	const uint32_t of = ds->of_stack[slot];
	int r;

	if (!its->blocks || of == DEFS_NONE || !is_split(ds, &ds->all[of]))
		return 0;
	r = series_advance(&g->births, ds->ledger->now_us, g->bytes);
	parts[of].blocks += its->blocks;
	parts[of].bytes += its->bytes;
	for (uint32_t at = 0; at < MMT_SERIES_POINTS && g->bytes; at++)
		parts[of].points[at] += share(at < g->births.n ? series_point(&g->births, at) : g->bytes, its->bytes,
					      g->bytes);
	return r;
}

/* These are bytes live at the end of each span already. */
static int look_at_merged_births(const struct stack_groups *ds, struct part *parts)
{
	struct merged *m = &ds->ledger->merged;
	int r = 0;

	for (size_t i = 0; i < m->ngroups && r == 0; i++) {
		struct merged_group *g = &m->groups[i];
		const struct summary_sum withheld = stack_groups_withheld(ds, i),
			others = { g->blocks - withheld.blocks, g->bytes - withheld.bytes };

		if (g->family != ds->family || !g->blocks)
			continue;
		r = add_merged(ds, stack_groups_slot_withheld(ds, g->stack), g, &withheld, parts);
		if (r == 0)
			r = add_merged(ds, stack_groups_slot(ds, g->stack, g->verdict), g, &others, parts);
	}
	return r;
}

static bool is_certain(const struct stack_group *d)
{
	return d->verdict == VERDICT_DEFINITE || d->verdict == VERDICT_INDIRECT;
}

/* The part with the most blocks among those that are not certainly lost; DEFS_NONE: all parts are. */
static uint32_t coming_and_going(const struct stack_groups *ds, uint32_t first, const struct part *parts)
{
	uint32_t best = DEFS_NONE;

	for (uint32_t i = first; i != DEFS_NONE; i = ds->all[i].next)
		if (!is_certain(&ds->all[i]) && (best == DEFS_NONE || parts[i].blocks > parts[best].blocks))
			best = i;
	return best;
}

static void take_away(uint64_t *from, uint64_t n)
{
	*from -= n < *from ? n : *from;
}

static void take_part(struct stack_group *left, const struct stack_group *d)
{
	for (size_t at = 0; at < MMT_SERIES_POINTS; at++)
		take_away(&left->points[at], d->points[at]);
	take_away(&left->own_bytes, d->own_bytes);
	take_away(&left->own_allocs, d->own_allocs);
	take_away(&left->own_frees, d->own_frees);
}

static void set(struct stack_group *d, const struct part *p)
{
	for (size_t i = 0; i < MMT_SERIES_POINTS; i++)
		d->points[i] = p->points[i];
	d->own_bytes = p->bytes;
	d->own_allocs = p->blocks;
	d->own_frees = 0;
}

/* @d gets the same share of @left at all times: @p's share of the bytes at the end. */
static void set_share(struct stack_group *d, const struct part *p, const struct stack_group *left)
{
	for (size_t i = 0; i < MMT_SERIES_POINTS; i++)
		d->points[i] = share(left->points[i], p->bytes, left->own_bytes);
	d->own_bytes = p->bytes;
	d->own_allocs = share(left->own_allocs, p->bytes, left->own_bytes);
	d->own_frees = share(left->own_frees, p->bytes, left->own_bytes);
}

static bool grows(const struct stack_groups *ds, const struct stack_group *d)
{
	struct growth_point points[MMT_SERIES_POINTS + 1];
	size_t n = stack_groups_series(ds, d, points);
	struct growth g;

	growth_classify(points, n, ds->ledger->now_us / 1e6, d->own_allocs, d->own_frees, &g);
	return growth_rises(&g);
}

static void copy(struct stack_group *d, const struct stack_group *left)
{
	memcpy(d->points, left->points, sizeof(d->points));
	d->own_bytes = left->own_bytes;
	d->own_allocs = left->own_allocs;
	d->own_frees = left->own_frees;
}

/* @left: the whole path at first; parts are subtracted from it. */
static void split_path(struct stack_groups *ds, uint32_t first, const struct part *parts,
		       struct stack_group *left)
{
	const uint32_t rest = coming_and_going(ds, first, parts);
	struct stack_group all;
	bool by_births;

	for (uint32_t i = first; i != DEFS_NONE; i = ds->all[i].next)
		if (is_certain(&ds->all[i])) {
			set(&ds->all[i], &parts[i]);
			take_part(left, &ds->all[i]);
		}
	if (rest == DEFS_NONE)
		return;
	by_births = !left->own_bytes || grows(ds, left);
	all = *left;
	for (uint32_t i = first; i != DEFS_NONE; i = ds->all[i].next) {
		if (is_certain(&ds->all[i]) || i == rest)
			continue;
		if (by_births)
			set(&ds->all[i], &parts[i]);
		else
			set_share(&ds->all[i], &parts[i], &all);
		take_part(left, &ds->all[i]);
	}
	copy(&ds->all[rest], left);
}

int stack_groups_split(struct stack_groups *ds)
{
	struct part *parts;
	int r;

	if (!any_is_split(ds))
		return 0;
	parts = calloc(ds->n, sizeof(*parts));
	if (!parts)
		return -ENOMEM;
	look_at_births(ds, parts);
	r = look_at_merged_births(ds, parts);
	for (uint32_t first = 0; first < ds->n && r == 0; first++) {
		struct stack_group whole = ds->all[first];

		if (whole.first == first && whole.next != DEFS_NONE)
			split_path(ds, first, parts, &whole);
	}
	free(parts);
	return r;
}

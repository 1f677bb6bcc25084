/* SPDX-License-Identifier: MIT */
/*
 * drafts_split: how each draft of a path grew, where its blocks got several verdicts (drafts_parts.h).
 *
 * The series of a path is counted while it runs, the verdicts come at the end. What is lost was not released: so it was held since
 * its birth, and the blocks that are there say how their part grew. What is left of the path's series is that of
 * the part whose blocks come and go: the one of most blocks that is not lost for certain.
 */
#include "report/drafts_parts.h"

#include <errno.h>
#include <stdlib.h>

#include "report/series.h"

struct part {
	uint64_t points[MMT_SERIES_POINTS];
	uint64_t blocks, bytes;
};

static bool is_split(const struct drafts *ds, const struct draft *d)
{
	return ds->all[d->first].next != DEFS_NONE;
}

static bool any_is_split(const struct drafts *ds)
{
	for (size_t i = 0; i < ds->n; i++)
		if (ds->all[i].next != DEFS_NONE)
			return true;
	return false;
}

/* First what was born in each span, then what was held at its end. */
static void look_at_births(const struct drafts *ds, struct part *parts)
{
	const struct live *live = ds->ledger->books[ds->family].live;
	uint64_t span = series_span(ds->ledger->now_us);
	struct live_block b;
	taddr addr;

	for (size_t at = 0; live_next(live, &at, &addr, &b);) {
		uint32_t of = drafts_of(ds, b.stack, ledger_verdict(ds->ledger, &b));

		if (of == DEFS_NONE || !is_split(ds, &ds->all[of]))
			continue;
		parts[of].blocks++;
		parts[of].bytes += b.size;
		if (b.birth_us / span < MMT_SERIES_POINTS)
			parts[of].points[b.birth_us / span] += b.size;
	}
	for (size_t i = 0; i < ds->n; i++)
		for (size_t at = 1; at < MMT_SERIES_POINTS; at++)
			parts[i].points[at] += parts[i].points[at - 1];
}

/* The part whose blocks come and go; DEFS_NONE: all is lost for certain. */
static uint32_t coming_and_going(const struct drafts *ds, uint32_t first, const struct part *parts)
{
	uint32_t best = DEFS_NONE;

	for (uint32_t i = first; i != DEFS_NONE; i = ds->all[i].next)
		if (ds->all[i].verdict != VERDICT_DEFINITE && ds->all[i].verdict != VERDICT_INDIRECT &&
		    (best == DEFS_NONE || parts[i].blocks > parts[best].blocks))
			best = i;
	return best;
}

static void take_away(uint64_t *from, uint64_t n)
{
	*from -= n < *from ? n : *from;
}

static void set(struct draft *d, const struct part *p)
{
	for (size_t i = 0; i < MMT_SERIES_POINTS; i++)
		d->points[i] = p->points[i];
	d->own_bytes = p->bytes;
	d->own_allocs = p->blocks;
	d->own_frees = 0;
}

/* @whole: the path's, of which @d is what the other parts leave. */
static void set_rest(struct draft *d, const struct draft *whole, uint32_t rest, const struct drafts *ds, const struct part *parts)
{
	struct draft left = *whole;

	for (uint32_t i = whole->first; i != DEFS_NONE; i = ds->all[i].next) {
		if (i == rest)
			continue;
		for (size_t at = 0; at < MMT_SERIES_POINTS; at++)
			take_away(&left.points[at], parts[i].points[at]);
		take_away(&left.own_bytes, parts[i].bytes);
		take_away(&left.own_allocs, parts[i].blocks);
	}
	for (size_t at = 0; at < MMT_SERIES_POINTS; at++)
		d->points[at] = left.points[at];
	d->own_bytes = left.own_bytes;
	d->own_allocs = left.own_allocs;
	d->own_frees = left.own_frees;
}

int drafts_split(struct drafts *ds)
{
	struct part *parts;

	if (!any_is_split(ds))
		return 0;
	parts = calloc(ds->n, sizeof(*parts));
	if (!parts)
		return -ENOMEM;
	look_at_births(ds, parts);
	for (uint32_t first = 0; first < ds->n; first++) {
		struct draft whole = ds->all[first];
		uint32_t rest;

		if (whole.first != first || whole.next == DEFS_NONE)
			continue;
		rest = coming_and_going(ds, first, parts);
		for (uint32_t i = first; i != DEFS_NONE; i = ds->all[i].next) {
			if (i == rest)
				set_rest(&ds->all[i], &whole, rest, ds, parts);
			else
				set(&ds->all[i], &parts[i]);
		}
	}
	free(parts);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * musl_find: where musl's malloc has its context: no symbol is needed, since a context is hard to mistake. It
 * begins with a secret, 64 random bits, which are repeated at the beginning of each meta area; the first area has as
 * many metas as all, and every list of groups leads into such areas. A program can have more than one context only
 * if it has more than one libc.
 */
#include <errno.h>

#include "heap/datawords.h"
#include "heap/musl/musl.h"

#define PAGE SNAPSHOT_PAGE
#define AREA_SLOTS 16u			/* in an area: how many metas it has room for */

_Static_assert(sizeof(struct musl_context) == 928, "musl's own size");

/* Is there a meta area at @at, as far as its first word shows? */
static bool is_area(struct musl *g, taddr at, uint64_t secret)
{
	uint64_t check;

	return at && at % PAGE == 0 && snapshot_cursor_word(&g->cursor, at, &check) && check == secret;
}

static bool is_first_area(struct musl *g, taddr at, uint64_t secret)
{
	uint64_t slots;

	return is_area(g, at, secret) && snapshot_cursor_word(&g->cursor, at + AREA_SLOTS, &slots) &&
	       (uint32_t)slots == MUSL_AREA_SLOTS;
}

static bool lists_lead_to_areas(struct musl *g, const struct musl_context *x)
{
	for (unsigned i = 0; i < MUSL_CLASSES; i++)
		if (x->active[i] && !is_area(g, x->active[i] & ~(taddr)(PAGE - 1), x->secret))
			return false;
	return true;
}

static bool is_context(struct musl *g, taddr at, struct musl_context *x)
{
	if (snapshot_read(g->s, at, x, sizeof(*x)) < 0)
		return false;
	return x->secret > UINT32_MAX && x->init_done == 1 && x->last_area && x->last_area % PAGE == 0 &&
	       x->area_shift < 48 && (x->brk == UINT64_MAX || x->brk % PAGE == 0) &&
	       is_first_area(g, x->first_area, x->secret) && lists_lead_to_areas(g, x);
}

/* A second context is another libc's: its blocks are not listed. */
static void take_context(struct musl *g, taddr at, const struct mapping *file, const struct musl_context *x)
{
	if (g->at) {
		g->c->others++;
		return;
	}
	g->at = at;
	g->file = file;
	g->data_lo = file->lo;
	g->data_hi = datamaps_end(&g->s->maps, file);
	g->context = *x;
}

static void search(struct musl *g, taddr lo, taddr hi, const struct mapping *file)
{
	struct musl_context x;

	for (taddr at = (lo + 7) & ~7ull; at < hi; at += 8) {
		uint64_t init, first;

		if (!snapshot_cursor_word(&g->cursor, at + 8, &init) || (uint32_t)init != 1)
			continue;
		if (!snapshot_cursor_word(&g->cursor, at + 56, &first) || !first || first % PAGE)
			continue;
		if (is_context(g, at, &x))
			take_context(g, at, file, &x);
	}
}

int musl_find(struct musl *g)
{
	struct datawords d = datawords_of(g->s);

	/* a context may begin in the file's mapping and end in the anonymous one behind it */
	while (datawords_next(&d))
		search(g, d.lo, d.hi, d.file);
	return g->at ? 0 : -ENOENT;
}

/* SPDX-License-Identifier: MIT */
/*
 * musl_find: where musl's malloc has its context: no symbol is needed, since a context is hard to mistake. It
 * begins with a secret, which is repeated at the beginning of each meta area, and every list of groups leads
 * into such areas. A program can have more than one only if it has more than one libc.
 */
#include <errno.h>

#include "heap/datamaps.h"
#include "heap/musl/musl.h"

#define PAGE SNAPSHOT_PAGE

_Static_assert(sizeof(struct musl_context) == 928, "musl's own size");

/* Is there a meta area at @at, as far as its first word shows? */
static bool is_area(struct musl *g, taddr at, uint64_t secret)
{
	uint64_t check;

	return at && at % PAGE == 0 && snapshot_cursor_word(&g->cursor, at, &check) && check == secret;
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
	return x->secret && x->init_done == 1 && x->last_area && x->last_area % PAGE == 0 &&
	       x->area_shift < 48 && (x->brk == UINT64_MAX || x->brk % PAGE == 0) &&
	       is_area(g, x->first_area, x->secret) && lists_lead_to_areas(g, x);
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

	for (taddr at = (lo + 7) & ~7ull; at + sizeof(x) <= hi; at += 8) {
		uint64_t init, first;

		if (!snapshot_cursor_word(&g->cursor, at + 8, &init) || (uint32_t)init != 1)
			continue;
		if (!snapshot_cursor_word(&g->cursor, at + 56, &first) || !first || first % PAGE)
			continue;
		if (is_context(g, at, &x))
			take_context(g, at, file, &x);
	}
}

/* Only what is in the snapshot: the rest was never written. */
static void search_mapping(struct musl *g, const struct mapping *m, const struct mapping *file)
{
	const struct snapshot *s = g->s;

	for (size_t i = snapshot_piece_from(s, m->lo); i < s->npieces && s->pieces[i].lo < m->hi; i++) {
		const struct snapshot_piece *p = &s->pieces[i];
		/* the context may begin in the file's mapping and end in the anonymous one behind it */
		const taddr lo = p->lo > m->lo ? p->lo : m->lo, end = p->lo + p->size;

		search(g, lo, end < m->hi + sizeof(struct musl_context) ? end : m->hi + 8, file);
	}
}

int musl_find(struct musl *g)
{
	struct datamaps data = datamaps_of(&g->s->maps);
	const struct mapping *m, *file;

	while ((m = datamaps_next(&data, &file)))
		search_mapping(g, m, file);
	return g->at ? 0 : -ENOENT;
}

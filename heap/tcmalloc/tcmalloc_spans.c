/* SPDX-License-Identifier: MIT */
/*
 * tcmalloc_spans: the page map has the first and the last page of each span; of spans of a class, all.
 * Other elements are old: a span that was joined with another leaves them. So the map is gone through from
 * span to span. All elements lead to memory of tcmalloc's own, also old ones.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "heap/datamaps.h"
#include "heap/tcmalloc/tcmalloc.h"

#define SPAN_BYTES (8 * TCMALLOC_SPAN_WORDS)
#define SPAN_OBJECTS 32u
#define SPAN_BITS 40u
#define PAGE SNAPSHOT_PAGE
/* Memory for tcmalloc's own structs is taken in parts of that size. */
#define META_PART (128u << 10)
#define CACHE_BYTES 4160u
/* In the page heap, behind the root: a function, two sets, two lists for each number of pages. */
#define SETS_BYTES 104u
#define LISTS_BYTES 96u
#define PLACES 3u

struct walk {
	struct tcmalloc *g;
	uint64_t next;			/* the page behind the span before */
	uint64_t elements;		/* that were looked at: no more than there can be in memory */
	uint64_t bytes[PLACES];		/* of spans: in use, free, free and released to the system */
	bool hole;
};

/* --- memory of tcmalloc's own --- */

static void add_meta(struct tcmalloc *g, taddr lo, taddr hi)
{
	struct snapshot_range *last = g->nmetas ? &g->metas[g->nmetas - 1] : NULL;
	const struct mapping *m;

	lo &= ~(taddr)(PAGE - 1);
	hi = (hi + PAGE - 1) & ~(taddr)(PAGE - 1);
	if (last && lo >= last->lo && hi <= last->hi)
		return;
	m = procmaps_find(&g->s->maps, lo);
	if (!m || m->ino || hi > m->hi)
		return;
	/* most are there already */
	if (g->nmetas == g->meta_room && g->nmetas)
		g->nmetas = snapshot_join(g->metas, g->nmetas);
	if (grow_for(&g->metas, g->nmetas, &g->meta_room, sizeof(*g->metas)) < 0)
		g->no_memory = true;
	else
		g->metas[g->nmetas++] = (struct snapshot_range){ lo, hi };
}

/* Is any part of a span in [lo, hi)? */
static bool has_span(const struct tcmalloc *g, taddr lo, taddr hi)
{
	size_t a = 0, b = g->nspans;

	while (a < b) {
		const size_t mid = a + (b - a) / 2;

		if (g->spans[mid].lo + g->spans[mid].bytes <= lo)
			a = mid + 1;
		else
			b = mid;
	}
	return a < g->nspans && g->spans[a].lo < hi;
}

/* What lies between two structs of the same part is tcmalloc's, too. */
static void join_metas(struct tcmalloc *g)
{
	size_t kept = 0;

	g->nmetas = snapshot_join(g->metas, g->nmetas);
	for (size_t i = 0; i < g->nmetas; i++) {
		struct snapshot_range *last = kept ? &g->metas[kept - 1] : NULL;
		const struct snapshot_range r = g->metas[i];

		if (last && r.lo - last->hi < META_PART && !has_span(g, last->hi, r.lo) &&
		    datamaps_cover(&g->s->maps, last->hi, r.lo))
			last->hi = r.hi;
		else if (!has_span(g, r.lo, r.hi))
			g->metas[kept++] = r;
	}
	g->nmetas = kept;
}

/* --- spans --- */

struct tcmalloc_span tcmalloc_span_of(const uint64_t words[TCMALLOC_SPAN_WORDS], unsigned page_shift)
{
	const uint64_t bits = words[SPAN_BITS / 8];

	return (struct tcmalloc_span){ .lo = words[0] << page_shift, .bytes = words[1] << page_shift,
				       .objects = words[SPAN_OBJECTS / 8], .used = bits & 0xffff,
				       .class = bits >> 16 & 0xff, .place = bits >> 24 & 3,
				       .sampled = bits >> 26 & 1 };
}

static bool read_span(struct tcmalloc *g, taddr at, struct tcmalloc_span *p)
{
	uint64_t words[TCMALLOC_SPAN_WORDS];

	for (unsigned i = 0; i < TCMALLOC_SPAN_WORDS; i++)
		if (!tcmalloc_word(g, at + 8 * i, &words[i]))
			return false;
	*p = tcmalloc_span_of(words, g->page_shift);
	p->at = at;
	return words[1] && (words[0] | words[1]) >> (48 - g->page_shift) == 0;
}

/* How many blocks it has; their bits. false: it cannot be so. */
static bool take_blocks(struct tcmalloc *g, struct tcmalloc_span *p)
{
	if (p->place >= PLACES || p->class >= g->nclasses)
		return false;
	if (p->place)
		return true;
	p->blocks = p->class ? (uint32_t)(p->bytes / g->classes[p->class].size) : 1;
	if (p->class && p->bytes != g->classes[p->class].pages << g->page_shift)
		return false;
	/* more than there is memory for: free blocks of a class are written to */
	if (p->class && g->nbits > (g->s->bytes + g->s->swapped + g->s->missing) / 8)
		return false;
	p->bit = g->nbits;
	g->nbits += p->blocks;
	return true;
}

/* The element of page @page leads to @at. */
static void take_element(struct walk *w, uint64_t page, taddr at)
{
	struct tcmalloc *g = w->g;
	struct tcmalloc_span p = { 0 };

	add_meta(g, at, at + SPAN_BYTES);
	if (page < w->next)
		return;
	if (!read_span(g, at, &p) || p.lo != page << g->page_shift) {
		census_doubt(g->c, g->at_work, at, "corrupt: the page map has no span that begins at " PRItaddr,
			     (taddr)(page << g->page_shift));
		return;
	}
	w->next = page + (p.bytes >> g->page_shift);
	/* a core may lack what is free */
	if (!take_blocks(g, &p) || (!p.place && !datamaps_cover(&g->s->maps, p.lo, p.lo + p.bytes))) {
		census_doubt(g->c, g->at_work, at, "corrupt: there can be no span as it is described here");
		return;
	}
	w->bytes[p.place] += p.bytes;
	if (grow_for(&g->spans, g->nspans, &g->span_room, sizeof(*g->spans)) < 0)
		g->no_memory = true;
	else
		g->spans[g->nspans++] = p;
}

static void walk_leaf(struct walk *w, taddr leaf, uint64_t page)
{
	const struct tcmalloc *g = w->g;
	const taddr end = leaf + tcmalloc_leaf_length(g) * 8;
	const uint8_t *bytes;
	uint64_t n, word;
	taddr at = leaf;

	add_meta(w->g, leaf, end);
	for (; (bytes = snapshot_next_bytes(g->s, &at, end, &n, &w->hole)) && !g->no_memory; at += n)
		for (uint64_t i = 0; i < n && !g->no_memory; i += 8) {
			memcpy(&word, bytes + i, sizeof(word));
			if (word && w->elements++ < g->s->bytes / 8)
				take_element(w, page + (at + i - leaf) / 8, word);
		}
}

static void walk_root(struct walk *w)
{
	struct tcmalloc *g = w->g;
	const taddr end = g->root + tcmalloc_root_length(g) * 8;
	const uint8_t *bytes;
	uint64_t n, leaf;
	taddr at = g->root;

	for (; (bytes = snapshot_next_bytes(g->s, &at, end, &n, &w->hole)) && !g->no_memory; at += n)
		for (uint64_t i = 0; i < n; i += 8) {
			memcpy(&leaf, bytes + i, sizeof(leaf));
			if (!leaf)
				continue;
			if (leaf % 8 || w->elements > g->s->bytes / 8)
				tcmalloc_problem(g, at + i, "corrupt: the page map has no leaf at " PRItaddr,
						 (taddr)leaf);
			else
				walk_leaf(w, leaf, (at + i - g->root) / 8 * tcmalloc_leaf_length(g));
		}
	if (w->hole)
		tcmalloc_problem(g, g->root, "a part of the page map is not in the snapshot");
}

/* The page heap counts bytes: all, free, free and released. */
static void compare(struct walk *w)
{
	struct tcmalloc *g = w->g;
	const taddr stats = g->root + tcmalloc_root_length(g) * 8 + SETS_BYTES +
			    (UINT64_C(1) << (20 - g->page_shift)) * LISTS_BYTES;
	const uint64_t all = w->bytes[0] + w->bytes[1] + w->bytes[2];
	struct census_arena *a = g->c->arenas;
	bool same = tcmalloc_word(g, stats, &a->system_bytes) && a->system_bytes == all;

	for (unsigned i = 1; i < PLACES; i++) {
		uint64_t n;

		same = same && tcmalloc_word(g, stats + 8 * i, &n) && n == w->bytes[i];
	}
	a->walked_bytes = all;
	a->top_bytes = w->bytes[1] + w->bytes[2];
	census_differs(g->c, !same, stats, "the page heap counts other bytes than its spans have");
}

int tcmalloc_list_spans(struct tcmalloc *g)
{
	struct walk w = { .g = g };

	walk_root(&w);
	compare(&w);
	for (size_t i = 0; i < g->ncaches; i++)
		add_meta(g, g->caches[i].at, g->caches[i].at + CACHE_BYTES);
	join_metas(g);
	return g->no_memory ? -ENOMEM : 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * mimalloc_pages: the slices of a segment, from page to page. Where the first block of a page begins differs
 * by version; which it is, is learned from the lists of the pages: their blocks are at multiples of the size.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "heap/mimalloc/mimalloc.h"

static uint64_t start_of(enum mimalloc_start start, uint64_t block)
{
	if (start == MIMALLOC_384)
		return block >= 8 && block <= 1024 ? 384 : 0;
	if (block < 8 || block > 512)
		return 0;
	return block <= 64 ? 3 * block : block;
}

/* --- reading --- */

struct mimalloc_slice mimalloc_slice_of(const uint64_t w[4])
{
	return (struct mimalloc_slice){ .count = (uint32_t)w[0], .offset = (uint32_t)(w[0] >> 32),
					.capacity = (uint16_t)(w[1] >> 16), .reserved = (uint16_t)(w[1] >> 32),
					.aligned = w[1] >> 49 & 1, .free = w[2],
					.used = (uint32_t)w[3], .block = (uint32_t)(w[3] >> 32) };
}

static bool read_slice(struct mimalloc *g, taddr at, struct mimalloc_slice *out)
{
	uint64_t w[4];

	for (unsigned i = 0; i < 4; i++)
		if (!mimalloc_word(g, at + 8 * i, &w[i]))
			return false;
	*out = mimalloc_slice_of(w);
	return true;
}

/* For now, `start` is that of its first slice. */
static int add_page(struct mimalloc *g, taddr at, taddr start, const struct mimalloc_slice *sl, uint64_t owner)
{
	const uint64_t all = sl->count * MIMALLOC_SLICE;
	struct mimalloc_page *p = grow_by_one(&g->pages, g->npages, sizeof(*p));

	if (!p)
		return -ENOMEM;
	*p = (struct mimalloc_page){ .at = at, .start = start,
				     .block = sl->block >= MIMALLOC_HUGE ? all : sl->block,
				     .capacity = sl->capacity, .reserved = sl->reserved,
				     .used = sl->used, .aligned = sl->aligned, .free = sl->free,
				     .owner = owner };
	if (!mimalloc_word(g, at + 32, &p->local) || !mimalloc_word(g, at + 40, &p->thread) ||
	    !mimalloc_word(g, at + 48, &p->heap))
		return 0;
	p->flag = p->thread & 3;
	p->thread &= ~3ull;
	if (p->block < 8 || p->capacity > p->reserved || p->reserved * p->block > all) {
		census_doubt(g->c, g->at_work, at, "corrupt: there can be no page of blocks as it is described here");
		return 0;
	}
	g->npages++;
	return 0;
}

static int read_pages_of(struct mimalloc *g, const struct mimalloc_segment *seg)
{
	uint64_t used = 0;
	int r = 0;

	for (uint64_t i = seg->info_slices; i < seg->entries && r == 0;) {
		const taddr at = seg->at + MIMALLOC_PAGES_AT + i * MIMALLOC_PAGE_BYTES;
		struct mimalloc_slice sl;

		if (!read_slice(g, at, &sl) || !sl.count || sl.offset ||
		    (seg->kind == 0 && i + sl.count > seg->entries)) {
			census_doubt(g->c, g->at_work, at, "corrupt: the slices of a segment do not lead to its end");
			return 0;
		}
		/* 0: free; 1: no page any more, or not yet */
		used += sl.block > 1;
		if (sl.block > 1 && sl.reserved)
			r = add_page(g, at, seg->at + i * MIMALLOC_SLICE, &sl, seg->thread);
		i += sl.count;
	}
	if (r == 0 && (used > seg->used ? used - seg->used : seg->used - used) > g->at_work)
		census_differs(g->c, 1, seg->at, "a segment counts other pages in use than it has");
	return r;
}

/* --- where blocks begin --- */

static uint64_t misfits(const struct mimalloc *g, enum mimalloc_start start)
{
	uint64_t n = 0;

	for (size_t i = 0; i < g->npages; i++) {
		const struct mimalloc_page *p = &g->pages[i];
		const taddr first = p->start + start_of(start, p->block), some = p->free ? p->free : p->local;

		n += some && (some < first || (some - first) % p->block);
	}
	return n;
}

static void set_starts(struct mimalloc *g)
{
	const enum mimalloc_start start =
		misfits(g, MIMALLOC_384) <= misfits(g, MIMALLOC_BY_SIZE) ? MIMALLOC_384 : MIMALLOC_BY_SIZE;

	for (size_t i = 0; i < g->npages; i++) {
		g->pages[i].start += start_of(start, g->pages[i].block);
		g->pages[i].bit = g->nbits;
		g->nbits += g->pages[i].reserved;
	}
}

/* --- extents --- */

static int add_area(struct mimalloc *g, const struct mimalloc_segment *seg)
{
	struct census *c = g->c;
	const struct mapping *m = procmaps_find(&g->s->maps, seg->at);
	taddr end = seg->at + seg->slices * MIMALLOC_SLICE, there = seg->at;

	/* not further than there is memory: a corrupt segment could have any size */
	while (m && there < end) {
		there = m->hi < end ? m->hi : end;
		m = procmaps_find(&g->s->maps, there);
	}
	if (there < end)
		census_doubt(g->c, g->at_work, seg->at, "corrupt: a segment is larger than its memory");
	if (grow_for(&c->areas, c->nareas, &g->area_room, sizeof(*c->areas)) < 0)
		return -ENOMEM;
	c->areas[c->nareas++] = (struct census_area){ seg->at, there, 0 };
	c->arenas->walked_bytes += there - seg->at;
	return 0;
}

int mimalloc_read_pages(struct mimalloc *g)
{
	int r = 0;

	for (size_t i = 0; i < g->nsegments && r == 0; i++) {
		r = add_area(g, &g->segments[i]);
		if (r == 0)
			r = read_pages_of(g, &g->segments[i]);
	}
	set_starts(g);
	return r;
}

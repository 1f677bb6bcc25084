/* SPDX-License-Identifier: MIT */
/*
 * Chunks that have a mapping of their own, and memory that the main arena has from mmap after sbrk has
 * failed.
 *
 * Nothing leads to them. They are searched for at the beginnings of pages of plain memory that belongs to no
 * heap, not only of mappings, because the kernel joins adjacent ones.
 *
 *	to 2.42         0, bytes | 2 ...                                     all of the mapping
 *	from 2.43       0, bytes - 16 | 2 ...
 *	                (1 instead of 0: huge pages)
 *	memalign's      0, bytes | 2, ... offset, bytes - offset | 2 ...
 *	                (the first head is stale: realloc may have changed the size since)
 *
 * Memory that one of them covers is not searched again: what looks like another one inside is the program's
 * data.
 */
#include "heap/glibc/glibc.h"

#include <errno.h>

#include "base/addr_search.h"
#include "base/addrmap.h"

#define PAGE SNAPSHOT_PAGE
#define HUGE_FLAG 1u

/* The contents of a head, if its chunk has a mapping of its own, from @base on. */
struct own_mapping {
	uint64_t total, usable;
	taddr chunk;
};

/* Is there a head at @chunk whose chunk has all memory from @base on, in memory that ends at @end? */
static bool read_head(struct snapshot_cursor *v, taddr base, taddr chunk, taddr end, struct own_mapping *out)
{
	const uint64_t offset = chunk - base;
	uint64_t before, head, size;

	if (!snapshot_cursor_word(v, chunk, &before) || !snapshot_cursor_word(v, chunk + 8, &head) ||
	    (head & GLIBC_FLAGS) != GLIBC_MMAPPED)
		return false;
	size = head & ~(uint64_t)GLIBC_FLAGS;
	if ((before & ~(uint64_t)HUGE_FLAG) != offset || size < GLIBC_MINSIZE || size % GLIBC_ALIGN ||
	    size > end - chunk)
		return false;
	out->chunk = chunk;
	out->total = offset + size;
	out->usable = size - 16;
	if (out->total % PAGE) {
			/*
			 * since 2.43, 16 bytes are left out at the end, as if a next chunk were there, and
			 * one word of them is usable
			 */
		out->total += 16;
		out->usable = size - 8;
	}
	return !(out->total % PAGE) && out->total <= end - base;
}

/* A chunk that memalign has moved up, to a multiple of some power of two. */
static bool find_moved(struct snapshot_cursor *v, taddr base, taddr end, struct own_mapping *out)
{
	for (uint64_t align = 2 * GLIBC_ALIGN; align && align < end - base; align *= 2) {
		const taddr mem = (base + 16 + align - 1) & -align;

		/* versions differ in how much space must be left before it */
		if (mem < end && mem - 16 > base && read_head(v, base, mem - 16, end, out))
			return true;
		if (mem + align < end && mem + align > mem && read_head(v, base, mem + align - 16, end, out))
			return true;
	}
	return false;
}

/* Is the page at @base the first of a chunk with its own mapping? */
static bool find_own(struct snapshot_cursor *v, taddr base, taddr end, struct own_mapping *out)
{
	uint64_t before, head;

	if (!snapshot_cursor_word(v, base, &before) || !snapshot_cursor_word(v, base + 8, &head))
		return false;
	if ((before & ~(uint64_t)HUGE_FLAG) || (head & GLIBC_FLAGS) != GLIBC_MMAPPED || head < PAGE - 16)
		return false;
	return find_moved(v, base, end, out) || read_head(v, base, base, end, out);
}

/* --- pieces of the main arena --- */

struct search {
	struct glibc *g;
	struct addrmap dead;	/* chunks from which the sizes lead nowhere */
	size_t old_regions;	/* these are sorted */
	int err;
};

/*
 * Do the sizes lead from the chunk at @at to fenceposts that end with a page, or to top? Returns the end, or
 * 0. The chunks of a chain that leads nowhere are remembered, so that all chains together are followed only
 * once.
 */
static taddr piece_end(struct search *f, taddr at, taddr end, bool *top)
{
	struct glibc *g = f->g;
	unsigned fences = 0;
	uint64_t head;

	while (at + 16 <= end && snapshot_cursor_word(&g->cursor, at + 8, &head)) {
		const uint64_t size = head & ~(uint64_t)GLIBC_FLAGS;
		bool fresh;

		*top = at == g->arenas[0].top;
		if (head & (GLIBC_MMAPPED | GLIBC_FOREIGN_ARENA) || size < 16 || size % GLIBC_ALIGN ||
		    size > end - at)
			break;
		fences = size == 16 ? fences + 1 : 0;
		at += size;
		if (*top || (fences >= 2 && at % PAGE == 0))
			return at;
		if (!addrmap_slot(&f->dead, at, &fresh))
			f->err = -ENOMEM;
		if (f->err || !fresh)
			break;
	}
	return 0;
}

/* The end of a piece of the main arena that begins at @at, or 0. */
static taddr try_piece(struct search *f, taddr at, taddr end, bool *top)
{
	uint64_t before, head;

	if (!snapshot_cursor_word(&f->g->cursor, at, &before) ||
	    !snapshot_cursor_word(&f->g->cursor, at + 8, &head) || before ||
	    (head & GLIBC_FLAGS) != GLIBC_PREV_INUSE)
		return 0;
	return piece_end(f, at, end, top);
}

static int add_piece(struct search *f, taddr at, taddr end, bool top)
{
	const bool first = f->g->param.sbrk_base && at - f->g->param.sbrk_base < GLIBC_ALIGN;
	const uint32_t lead = first ? (uint32_t)(at - f->g->param.sbrk_base) : 0;
	const struct glibc_region r = {
		.lo = at, .first = at, .hi = end, .arena = 0, .lead = lead, .ends_in_top = top
	};

	return glibc_add_region(f->g, &r);
}

static int add_own(struct glibc *g, taddr base, const struct own_mapping *own)
{
	const struct glibc_region r = { .lo = base, .first = own->chunk, .hi = base + own->total,
					.arena = CENSUS_MMAPPED, .usable = own->usable };

	return glibc_add_region(g, &r);
}

/* --- all pages --- */

/* The first page from @at on that a piece of the snapshot has, below @end. */
static taddr next_page(const struct glibc *g, taddr at, taddr end)
{
	const size_t i = snapshot_piece_from(g->s, at);
	const taddr lo = i < g->s->npieces ? g->s->pieces[i].lo : end;

	if (lo > at)
		at = (lo + PAGE - 1) & ~(taddr)(PAGE - 1);
	return at < end ? at : end;
}

/*
 * If there is none by malloc's own count, and no thread is just making one, what looks like one is the
 * program's data.
 */
static bool may_be_mapped(const struct glibc *g)
{
	return !g->param.at || g->param.n_mmaps || g->param.mmapped_mem || g->c->between;
}

/* Search the pages of [at, end), which are in no region. */
static void search_pages(struct search *f, taddr at, taddr end)
{
	struct glibc *g = f->g;
	const bool pieces = !g->arenas[0].contiguous, mapped = may_be_mapped(g);

	for (at = next_page(g, at, end); at < end && !f->err; at = next_page(g, at, end)) {
		struct own_mapping own;
		bool top;
		taddr to;

		if (mapped && find_own(&g->cursor, at, end, &own)) {
			f->err = add_own(g, at, &own);
			at += own.total;
		} else if (pieces && (to = try_piece(f, at, end, &top))) {
			f->err = add_piece(f, at, to, top);
			at = (to + PAGE - 1) & ~(taddr)(PAGE - 1);
		} else {
			at += PAGE;
		}
	}
}

/* Search the parts of [at, end) that are in no region. */
static void search_between(struct search *f, taddr at, taddr end)
{
	struct glibc *g = f->g;

	for (size_t i = ADDR_SEARCH(g->regions, f->old_regions, hi, at); at < end && !f->err; i++) {
		const bool one = i < f->old_regions && g->regions[i].lo < end;

		search_pages(f, at, one ? g->regions[i].lo : end);
		at = one ? (g->regions[i].hi + PAGE - 1) & ~(taddr)(PAGE - 1) : end;
	}
}

/* The piece that sbrk returned before it failed need not begin at a page. */
static void first_piece(struct search *f)
{
	struct glibc *g = f->g;
	const taddr at = (g->param.sbrk_base + GLIBC_ALIGN - 1) & ~(taddr)(GLIBC_ALIGN - 1);
	const struct mapping *m = procmaps_find(&g->s->maps, at);
	bool top;
	taddr to;

	if (!g->param.sbrk_base || !m)
		return;
	to = try_piece(f, at, glibc_plain_end(g, (size_t)(m - g->s->maps.maps)), &top);
	if (to) {
		f->err = add_piece(f, at, to, top);
		glibc_sort_regions(g);
		f->old_regions = g->nregions;
	}
}

int glibc_find_mapped(struct glibc *g)
{
	struct search f = { .g = g, .old_regions = g->nregions };

	addrmap_init(&f.dead, 0);
	if (!g->arenas[0].contiguous)
		first_piece(&f);
	for (size_t i = 0; i < g->s->maps.n && !f.err;) {
		const taddr lo = g->s->maps.maps[i].lo, hi = glibc_plain_end(g, i);
		const bool plain = glibc_plain(&g->s->maps.maps[i]);

		if (plain)
			search_between(&f, lo, hi);
		do
			i++;
		while (i < g->s->maps.n && plain && g->s->maps.maps[i].lo < hi);
	}
	addrmap_fini(&f.dead);
	glibc_sort_regions(g);
	return f.err;
}

/* SPDX-License-Identifier: MIT */
/* glibc_take: what a walk records, and its simple steps: see glibc_walk.h. */
#include "heap/glibc/glibc_walk.h"

#include <sys/mman.h>

#include "base/grow.h"

#define PAGE SNAPSHOT_PAGE
#define FIRST_BLOCKS (1u << 16)	/* a MiB */

/* --- into the census --- */

/*
 * Room for as many blocks as there can be: no memory yet, only addresses. So nothing has to be moved, and
 * huge pages can be used: with small ones, page faults are most of the time that a census takes. If that much
 * cannot be reserved, half of it is tried, and so on.
 */
bool take_reserve(struct glibc *g)
{
	struct census *c = g->c;
	size_t most = FIRST_BLOCKS;

	for (size_t i = 0; i < g->nregions; i++)
		most += (g->regions[i].hi - g->regions[i].lo) /
				(g->regions[i].arena == CENSUS_MMAPPED ? PAGE : GLIBC_MINSIZE) +
			1;
	for (; most >= FIRST_BLOCKS; most /= 2) {
		void *p = mmap(NULL, most * sizeof(*c->blocks), PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (p == MAP_FAILED)
			continue;
		(void)madvise(p, most * sizeof(*c->blocks), MADV_HUGEPAGE);
		c->blocks = p;
		c->block_room = most;
		return true;
	}
	return false;
}

/* The kernel moves the pages. */
bool take_grow(struct census *c)
{
	void *p = mremap(c->blocks, c->block_room * sizeof(*c->blocks),
			 2 * c->block_room * sizeof(*c->blocks), MREMAP_MAYMOVE);

	if (p == MAP_FAILED)
		return false;
	c->blocks = p;
	c->block_room *= 2;
	return true;
}

/* Unmaps the room that was not needed. */
void glibc_trim_blocks(struct census *c)
{
	const size_t all = (c->block_room * sizeof(*c->blocks) + PAGE - 1) & ~(size_t)(PAGE - 1);
	size_t kept = (c->nblocks * sizeof(*c->blocks) + PAGE - 1) & ~(size_t)(PAGE - 1);

	/* one page stays, so that there is something to unmap later */
	kept = kept ? kept : PAGE;
	if (kept < all && munmap((char *)c->blocks + kept, all - kept) == 0)
		c->block_room = kept / sizeof(*c->blocks);
}

void take_area(struct glibc *g, taddr lo, taddr hi, uint32_t arena)
{
	struct census *c = g->c;

	if (lo >= hi)
		return;
	if (grow_for(&c->areas, c->nareas, &g->area_room, sizeof(*c->areas)) < 0)
		g->no_memory = true;
	else
		c->areas[c->nareas++] = (struct census_area){ lo, hi, arena };
}

/* --- steps --- */

/* A free chunk. If all is well, the sums contain its own address as often as links to it. */
void walk_take_free(struct walk *w, taddr at, uint64_t size)
{
	uint64_t fd, bk;

	w->bins.blocks++;
	w->bins.bytes += size;
	if (!snapshot_cursor_word(&w->g->cursor, at + 16, &fd) ||
	    !snapshot_cursor_word(&w->g->cursor, at + 24, &bk))
		return;
	w->a->members += glibc_mix(at);
	w->a->forward += glibc_mix(fd);
	w->a->backward += glibc_mix(bk);
}

void walk_go_on(struct walk *w, taddr next)
{
	w->before = 0;
	w->at = next;
	if (!snapshot_cursor_word(&w->g->cursor, next + 8, &w->head))
		w->head = 0;
}

void walk_end_piece(struct walk *w, taddr end)
{
	struct glibc *g = w->g;
	/* the beginning of a heap is the allocator's, too */
	const taddr lo = w->piece == w->r->first ? w->r->lo : w->piece;

	take_area(g, lo, end, w->r->arena);
	w->out->walked_bytes += end - lo;
}

void walk_end(struct walk *w)
{
	walk_end_piece(w, w->r->hi);
	w->done = true;
}

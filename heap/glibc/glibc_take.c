/* SPDX-License-Identifier: MIT */
/* glibc_take: what a walk records, and its simple steps: see glibc_walk.h. */
#include "heap/glibc/glibc_walk.h"

#include "base/grow.h"

#define PAGE SNAPSHOT_PAGE

/* --- into the census --- */

/* As many as there can be. */
bool take_reserve(struct glibc *g)
{
	size_t most = 0;

	for (size_t i = 0; i < g->nregions; i++)
		most += (g->regions[i].hi - g->regions[i].lo) /
				(g->regions[i].arena == CENSUS_MMAPPED ? PAGE : GLIBC_MINSIZE) +
			1;
	return census_blocks_reserve(g->c, most);
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

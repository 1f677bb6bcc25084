/* SPDX-License-Identifier: MIT */
/*
 * Chunk by chunk: each one's size leads to the next, whose head says whether this one is in use.
 *
 *	head   size | in use    what the bit of the next says           what it is
 *	any                     in use, and in no free list             a block of the program's
 *	any                     free                                    in a bin: its size precedes the next
 *	at top                                                          the end
 *	16, in use                                                      fenceposts: the end of a piece
 *
 * glibc_repair.c handles what does not fit.
 */
#include "heap/glibc/glibc_walk.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"

#define PAGE SNAPSHOT_PAGE

/* --- one chunk --- */

static void add_orphan(struct glibc *g, taddr at)
{
	if (grow_for(&g->orphans, g->norphans, &g->orphan_room, sizeof(*g->orphans)) < 0)
		g->no_memory = true;
	else
		g->orphans[g->norphans++] = at;
}

static void take_used(struct walk *w, taddr at, uint64_t size)
{
	if (w->r->cached && glibc_bit(w->r->cached, w->r, at))
		return;
	w->used.blocks++;
	w->used.bytes += size;
	take_block(w->g, at + 16, size - 8);
	if (glibc_tcache_size(size))
		add_orphan(w->g, at + 16);
}

static bool take_joint(struct walk *w)
{
	for (size_t i = 0; i < w->njoints; i++) {
		const struct walk_joint *j = &w->joints[i];

		if (j->from != w->at || (j->behind && j->behind != w->before))
			continue;
		w->bins.blocks++;
		w->bins.bytes += j->next - j->from;
		walk_go_on(w, j->next);
		w->before = j->from;
		return true;
	}
	return false;
}

/* --- ends --- */

/*
 * Top, or what is just becoming it, from @at on. Its size is not needed, and is wrong while something is
 * being split off; otherwise it should be right.
 */
static void end_in_top(struct walk *w, taddr at)
{
	if (!w->a->busy && (w->head & ~(uint64_t)GLIBC_FOREIGN_ARENA) != ((w->r->hi - at) | GLIBC_PREV_INUSE))
		glibc_problem(w->g, at,
			      "corrupt: the last chunk, top, has the size %#" PRIx64 " instead of %#" PRIx64,
			      w->head, w->r->hi - at);
	w->out->top_bytes += w->r->hi - at;
	walk_end_piece(w, w->r->hi);
	w->done = true;
}

/* --- pieces of the main heap --- */

/* After fenceposts at @at: memory of other code, and then our next piece. */
static void next_piece(struct walk *w, taddr at)
{
	uint64_t before;

	walk_end_piece(w, at);
	for (taddr next = at; next + GLIBC_MINSIZE <= w->r->hi && !w->g->no_memory; next += GLIBC_ALIGN) {
		/* the memory was fresh: the word before the first head is 0 */
		if (!snapshot_cursor_word(&w->g->cursor, next, &before) || before ||
		    !snapshot_cursor_word(&w->g->cursor, next + 8, &w->head))
			continue;
		if (!(w->head & GLIBC_PREV_INUSE) || walk_size(w->head) < GLIBC_MINSIZE ||
		    !walk_leads_on(w, next, &w->dead))
			continue;
		w->g->c->foreign_bytes += next - at;
		w->piece = w->at = next;
		w->before = 0;
		return;
	}
	w->done = true;
	w->g->c->foreign_bytes += w->r->hi - at;
	glibc_problem(w->g, at, "the main heap ends before its top");
}

/*
 * There are fenceposts at @w->at, of 16 bytes each. In other heaps the last one has size 0, and the one
 * before it may be a remainder of top that was too small.
 */
static void at_fence(struct walk *w)
{
	taddr at = w->at;
	uint64_t head = w->head;

	while (at + 16 <= w->r->hi && walk_size(head) == 16 && at - w->at < 64) {
		w->out->other_bytes += 16;
		at += 16;
		if (at + 16 > w->r->hi || (w->r->foreign && at % PAGE == 0) ||
		    !snapshot_cursor_word(&w->g->cursor, at + 8, &head))
			break;
	}
	if (at < w->r->hi && w->r->foreign) {
		next_piece(w, at);
	} else {
		w->out->other_bytes += w->r->hi - at;
		walk_end(w);
	}
}

/* --- the walk --- */

/* The chunk at w->at is in use if the next one's @head says so. */
static void take(struct walk *w, uint64_t size, taddr next, uint64_t head)
{
	uint64_t before;

	if (head & GLIBC_PREV_INUSE || next == w->a->top || !walk_is_head(w, next, head)) {
		if (walk_size(head) == 0 && next + 16 == w->r->hi && !w->r->ends_in_top) {
			/*
			 * the rest of a top that was too small to be freed, 32 bytes, and the last fencepost
			 */
			w->out->other_bytes += size + 16;
			walk_end(w);
			return;
		}
		/*
		 * before top, and before what is no head, the bit means nothing; a free chunk is merged with
		 * top
		 */
		take_used(w, w->at, size);
	} else if (!snapshot_cursor_word(&w->g->cursor, next, &before) || before != size) {
		walk_bad_foot(w, next, before, head);
		return;
	} else {
		walk_take_free(w, w->at, size);
	}
	w->before = w->at;
	w->at = next;
	w->head = head;
}

static void step(struct walk *w)
{
	const uint64_t size = walk_size(w->head);
	const taddr next = w->at + size;
	uint64_t head;

	if (w->njoints && take_joint(w)) {
		/* it has been counted */
	} else if (w->at == w->a->last_freed && w->a->busy && walk_cut(w)) {
		/* there is a joint now */
	} else if (w->at == w->a->top && w->r->ends_in_top) {
		end_in_top(w, w->at);
	} else if (!walk_is_head(w, w->at, w->head)) {
		walk_bad_head(w);
	} else if (size == 16) {
		at_fence(w);
	} else if (next == w->r->hi) {
		/* a chunk that reaches the end is top: as it was, or as it will be */
		end_in_top(w, w->at);
	} else {
		if (!snapshot_cursor_word(&w->g->cursor, next + 8, &head))
			head = 0;
		take(w, size, next, head);
	}
}

/* Everything that a walk over one region changes, in case the walk has to be repeated. */
struct before {
	struct glibc_arena arena;
	struct census_arena out;
	size_t nblocks, nareas, norphans;
	uint64_t foreign, unseen;
};

static struct before remember(const struct glibc *g, const struct glibc_region *r)
{
	const struct census *c = g->c;

	return (struct before){ g->arenas[r->arena], c->arenas[r->arena], c->nblocks,	  c->nareas,
				g->norphans,	     c->foreign_bytes,	  c->unseen_bytes };
}

static void restore(struct glibc *g, const struct glibc_region *r, const struct before *b)
{
	struct census *c = g->c;
	struct glibc_arena *a = &g->arenas[r->arena];

	a->members = b->arena.members;
	a->forward = b->arena.forward;
	a->backward = b->arena.backward;
	c->arenas[r->arena] = b->out;
	c->nblocks = b->nblocks;
	c->nareas = b->nareas;
	g->norphans = b->norphans;
	c->foreign_bytes = b->foreign;
	c->unseen_bytes = b->unseen;
}

static void start(struct walk *w, struct glibc *g, struct glibc_region *r)
{
	w->used = w->bins = (struct census_sum){ 0 };
	w->again = false;
	w->piece = r->first;
	w->out->other_bytes += r->first - r->lo + r->lead;
	w->out->walked_bytes += r->lead;
	walk_go_on(w, r->first);
	while (!w->done && !w->again && !g->no_memory)
		step(w);
	free(w->dead);
	w->dead = NULL;
}

static void walk_region(struct glibc *g, struct glibc_region *r)
{
	struct walk w = { .g = g, .r = r, .a = &g->arenas[r->arena], .out = &g->c->arenas[r->arena] };
	const struct before b = remember(g, r);

	if (w.a->busy)
		walk_note_rests(&w);
	start(&w, g, r);
	/* repeated at most once for each joint */
	while (w.again && !g->no_memory) {
		restore(g, r, &b);
		start(&w, g, r);
	}
	w.out->used.blocks += w.used.blocks;
	w.out->used.bytes += w.used.bytes;
	w.out->bins.blocks += w.bins.blocks;
	w.out->bins.bytes += w.bins.bytes;
	g->c->repaired += w.njoints;
}

static void take_mapped(struct glibc *g, const struct glibc_region *r)
{
	take_area(g, r->lo, r->hi, CENSUS_MMAPPED);
	g->c->mmapped.blocks++;
	g->c->mmapped.bytes += r->hi - r->lo;
	if (!r->freed)
		take_block(g, r->first + 16, r->usable);
}

/* Is each free chunk linked to as often as it is there? If not, the lists are followed, to report where. */
static void check_sums(struct glibc *g, size_t i)
{
	struct glibc_arena *a = &g->arenas[i];

	for (unsigned k = 0; k < GLIBC_BINS; k++) {
		const taddr bin = a->bins + 16 * k;
		uint64_t fd = 0, bk = 0;

		if (!snapshot_cursor_word(&g->cursor, bin, &fd) ||
		    !snapshot_cursor_word(&g->cursor, bin + 8, &bk))
			return;
		a->members += glibc_mix(bin - 16);
		a->forward += glibc_mix(fd);
		a->backward += glibc_mix(bk);
	}
	if (a->members != a->forward || a->members != a->backward)
		glibc_check_bins(g, i);
}

int glibc_walk(struct glibc *g)
{
	if (!take_reserve(g))
		return -ENOMEM;
	for (size_t i = 0; i < g->nregions && !g->no_memory; i++) {
		struct glibc_region *r = &g->regions[i];

		if (r->arena == CENSUS_MMAPPED)
			take_mapped(g, r);
		else
			walk_region(g, r);
	}
	g->walked = true;
	for (size_t i = 0; i < g->narenas && !g->no_memory; i++)
		if (!g->arenas[i].edges_known)
			check_sums(g, i);
	return g->no_memory ? -ENOMEM : 0;
}

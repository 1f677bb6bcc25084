/* SPDX-License-Identifier: MIT */
/*
 * Chunk by chunk: each one's size leads to the next, whose head says whether this one is in use.
 *
 *	head   size | in use    what the bit of the next says           what it is
 *	any                     in use, and no free list has it         a block of the program's
 *	any                     free                                    in a bin: its size again before the next head
 *	at top                                                          the end
 *	16, in use                                                      fenceposts: the end of a piece
 *
 * Where a head cannot be one, the heap is corrupt, and the walk goes on with the next chunk that a bin or a list knows of: what lies
 * between is not seen, and said to be so.
 *
 * A stop may find a thread at work. Cutting a chunk in two is a store to the first's head, then one to the second's: between them, what was
 * in that place before is read as a head. But the neighbour behind both still has the old size in front of it, and so tells where the free
 * chunk was that is being cut: from there on, all is one that is not in use.
 */
#include "heap/glibc.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/grow.h"

#define PAGE SNAPSHOT_PAGE
#define FIRST_BLOCKS (1u << 16)	/* a MiB */

struct walk {
	struct glibc *g;
	struct glibc_region *r;
	struct glibc_arena *a;
	struct census_arena *out;
	taddr at;		/* the chunk */
	uint64_t head;		/* its size and flags */
	taddr piece;		/* where the piece began */
	size_t piece_blocks;	/* blocks before it */
	struct census_sum used, bins;
	bool done;
};

/* --- the list of blocks --- */

/* Room for more, by the kernel's moving of pages instead of copying. */
static bool grow_blocks(struct census *c)
{
	const size_t more = c->block_room ? 2 * c->block_room : FIRST_BLOCKS;
	void *p = c->blocks ? mremap(c->blocks, c->block_room * sizeof(*c->blocks), more * sizeof(*c->blocks), MREMAP_MAYMOVE)
			    : mmap(NULL, more * sizeof(*c->blocks), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return false;
	/* fewer faults: with small pages they are a third of the time */
	(void)madvise(p, more * sizeof(*c->blocks), MADV_HUGEPAGE);
	c->blocks = p;
	c->block_room = more;
	return true;
}

static void add_block(struct glibc *g, taddr addr, uint64_t size)
{
	struct census *c = g->c;

	if (c->nblocks == c->block_room && !grow_blocks(c))
		g->no_memory = true;
	else
		c->blocks[c->nblocks++] = (struct block){ addr, size };
}

/* What was beyond need goes back. */
static void trim_blocks(struct census *c)
{
	const size_t bytes = (c->nblocks * sizeof(*c->blocks) + PAGE - 1) & ~(size_t)(PAGE - 1);
	void *p = bytes ? mremap(c->blocks, c->block_room * sizeof(*c->blocks), bytes, 0) : MAP_FAILED;

	if (p != MAP_FAILED)
		c->block_room = bytes / sizeof(*c->blocks);
}

static void add_area(struct glibc *g, taddr lo, taddr hi, uint32_t arena)
{
	struct census *c = g->c;

	if (lo >= hi)
		return;
	if (grow_for(&c->areas, c->nareas, &g->area_room, sizeof(*c->areas)) < 0)
		g->no_memory = true;
	else
		c->areas[c->nareas++] = (struct census_area){ lo, hi, arena };
}

/* --- one chunk --- */

static uint64_t size_of(uint64_t head)
{
	return head & ~(uint64_t)GLIBC_FLAGS;
}

static bool is_head(const struct walk *w, taddr at, uint64_t head)
{
	const uint64_t size = size_of(head);

	return size >= 16 && !(size % GLIBC_ALIGN) && size <= w->r->hi - at && !(head & GLIBC_MMAPPED) && !(w->r->arena == 0 && head & GLIBC_FOREIGN_ARENA);
}

static void take_used(struct walk *w, uint64_t size)
{
	if (w->r->cached && glibc_bit(w->r->cached, w->r, w->at))
		return;
	w->used.blocks++;
	w->used.bytes += size;
	add_block(w->g, w->at + 16, size - 8);
}

/* A free one: in the sums, its own address must be there as often as links to it. */
static void take_free(struct walk *w, uint64_t size)
{
	uint64_t fd, bk;

	w->bins.blocks++;
	w->bins.bytes += size;
	if (!view_word(&w->g->view, w->at + 16, &fd) || !view_word(&w->g->view, w->at + 24, &bk))
		return;
	w->a->members += glibc_mix(w->at);
	w->a->forward += glibc_mix(fd);
	w->a->backward += glibc_mix(bk);
}

/* --- ends --- */

/* Everything of the piece has been seen, up to @end. */
static void end_piece(struct walk *w, taddr end)
{
	struct glibc *g = w->g;
	/* the beginning of a heap is the allocator's too */
	const taddr lo = w->piece == w->r->first ? w->r->lo : w->piece;

	add_area(g, lo, end, w->r->arena);
	w->out->walked_bytes += end - lo;
}

/* Top, or what is just becoming it, from @at on. */
static void end_in_top(struct walk *w, taddr at)
{
	w->out->top_bytes += w->r->hi - at;
	end_piece(w, w->r->hi);
	w->done = true;
}

static void lose(struct walk *w, taddr from, taddr to)
{
	w->g->c->unseen_bytes += to - from;
	w->out->walked_bytes -= to - from;
}

/* The next chunk behind @at that a list of free ones knows of; the region's end: there is none. */
static taddr next_edge(struct walk *w, taddr at)
{
	const uint64_t words = (w->r->hi - w->r->lo) / GLIBC_ALIGN / 64 + 1;
	uint64_t i = (at - w->r->lo) / GLIBC_ALIGN + 1, mask = ~0ull << i % 64;

	for (uint64_t k = i / 64; k < words; k++, mask = ~0ull) {
		const uint64_t bits = ((w->r->cached ? w->r->cached[k] : 0) | (w->r->edges ? w->r->edges[k] : 0)) & mask;

		if (bits)
			return w->r->lo + (k * 64 + (uint64_t)__builtin_ctzll(bits)) * GLIBC_ALIGN;
	}
	return w->r->ends_in_top && w->a->top > at && w->a->top < w->r->hi ? w->a->top : w->r->hi;
}

/* The walk cannot follow: go on where something else knows of a chunk. */
static void skip_bad(struct walk *w)
{
	taddr next;

	if (!w->a->broken) {
		w->a->broken = true;
		glibc_check_bins(w->g, w->r->arena);
	}
	next = next_edge(w, w->at);
	lose(w, w->at, next);
	w->at = next;
	if (next >= w->r->hi) {
		end_piece(w, w->r->hi);
		w->done = true;
	} else if (!view_word(&w->g->view, next + 8, &w->head)) {
		w->head = 0;
	}
}

static void bad_head(struct walk *w)
{
	if (snapshot_kind_at(w->g->s, w->at + 8) == SNAPSHOT_HERE)
		glibc_problem(w->g, w->at, "corrupt: no chunk has the size %#" PRIx64 ", where one should begin", w->head);
	else
		glibc_problem(w->g, w->at, "the heap's memory is not in the snapshot from here on");
	skip_bad(w);
}

/* --- pieces of the main heap --- */

/* Do the sizes lead from @at to the top, or to fenceposts? Heads that were seen on ways that led nowhere are marked in @dead. */
static bool leads_on(struct walk *w, taddr at, uint64_t **dead)
{
	unsigned fences = 0;
	uint64_t head;

	while (at + 16 <= w->r->hi && view_word(&w->g->view, at + 8, &head) && is_head(w, at, head)) {
		if (at == w->a->top)
			return true;
		fences = size_of(head) == 16 ? fences + 1 : 0;
		if (fences == 2 && (at + 16) % PAGE == 0)
			return true;
		if (fences > 3 || !glibc_set_bit(w->g, dead, w->r, at))
			return false;
		at += size_of(head);
	}
	return false;
}

/* Behind fenceposts at @at: somebody else's memory, and then our next piece. */
static void next_piece(struct walk *w, taddr at)
{
	uint64_t *dead = NULL;
	uint64_t before;

	end_piece(w, at);
	for (taddr next = at; next + GLIBC_MINSIZE <= w->r->hi && !w->g->no_memory; next += GLIBC_ALIGN) {
		/* the memory was fresh: nothing was before the first chunk */
		if (!view_word(&w->g->view, next, &before) || before || !view_word(&w->g->view, next + 8, &w->head))
			continue;
		if (!(w->head & GLIBC_PREV_INUSE) || size_of(w->head) < GLIBC_MINSIZE || !leads_on(w, next, &dead))
			continue;
		w->g->c->foreign_bytes += next - at;
		w->piece = w->at = next;
		free(dead);
		return;
	}
	free(dead);
	w->done = true;
	w->g->c->foreign_bytes += w->r->hi - at;
	glibc_problem(w->g, at, "the main heap ends before its top");
}

/* Fenceposts are at @w->at: of 16 bytes each; in other heaps, the last of them of none, and the one before it may be a too small rest of top. */
static void at_fence(struct walk *w)
{
	taddr at = w->at;
	uint64_t head = w->head;

	while (at + 16 <= w->r->hi && size_of(head) == 16 && at - w->at < 64) {
		w->out->other_bytes += 16;
		at += 16;
		if (at + 16 > w->r->hi || (w->r->foreign && at % PAGE == 0) || !view_word(&w->g->view, at + 8, &head))
			break;
	}
	if (at < w->r->hi && w->r->foreign) {
		next_piece(w, at);
	} else {
		w->out->other_bytes += w->r->hi - at;
		end_piece(w, w->r->hi);
		w->done = true;
	}
}

/* --- the walk --- */

static void step(struct walk *w)
{
	struct glibc *g = w->g;
	const uint64_t size = size_of(w->head);
	const taddr next = w->at + size;
	uint64_t head;

	if (w->at == w->a->top && w->r->ends_in_top) {
		end_in_top(w, w->at);
		return;
	}
	if (!is_head(w, w->at, w->head)) {
		bad_head(w);
		return;
	}
	if (size == 16) {
		at_fence(w);
		return;
	}
	if (next == w->r->hi) {
		/* a chunk that reaches the end is top: as it was, or as it will be */
		end_in_top(w, w->at);
		return;
	}
	if (!view_word(&g->view, next + 8, &head))
		head = 0;
	if (size_of(head) == 0 && next + 16 == w->r->hi && !w->r->ends_in_top)
		w->out->other_bytes += size;
	else if (head & GLIBC_PREV_INUSE)
		take_used(w, size);
	else
		take_free(w, size);
	w->at = next;
	w->head = head;
}

static void walk_region(struct glibc *g, struct glibc_region *r)
{
	struct walk w = { .g = g, .r = r, .a = &g->arenas[r->arena], .out = &g->c->arenas[r->arena], .at = r->first, .piece = r->first };

	if (!view_word(&g->view, w.at + 8, &w.head))
		w.head = 0;
	w.out->other_bytes += r->first - r->lo;
	while (!w.done && !g->no_memory)
		step(&w);
	w.out->used.blocks += w.used.blocks;
	w.out->used.bytes += w.used.bytes;
	w.out->bins.blocks += w.bins.blocks;
	w.out->bins.bytes += w.bins.bytes;
}

static void take_mapped(struct glibc *g, const struct glibc_region *r)
{
	add_area(g, r->lo, r->hi, CENSUS_MMAPPED);
	g->c->mmapped.blocks++;
	g->c->mmapped.bytes += r->hi - r->lo;
	if (!r->freed)
		add_block(g, r->first + 16, r->usable);
}

/* Is each free chunk linked to as often as it is there? If not, the lists are followed, and say where. */
static void check_sums(struct glibc *g, size_t i)
{
	struct glibc_arena *a = &g->arenas[i];

	for (unsigned k = 0; k < GLIBC_BINS; k++) {
		const taddr bin = a->bins + 16 * k;
		uint64_t fd = 0, bk = 0;

		if (!view_word(&g->view, bin, &fd) || !view_word(&g->view, bin + 8, &bk))
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
	for (size_t i = 0; i < g->nregions && !g->no_memory; i++) {
		struct glibc_region *r = &g->regions[i];

		if (r->arena == CENSUS_MMAPPED)
			take_mapped(g, r);
		else
			walk_region(g, r);
	}
	for (size_t i = 0; i < g->narenas && !g->no_memory; i++)
		if (!g->arenas[i].broken)
			check_sums(g, i);
	trim_blocks(g->c);
	return g->no_memory ? -ENOMEM : 0;
}

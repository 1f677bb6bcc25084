/* SPDX-License-Identifier: MIT */
/*
 * glibc_walk: the state of a walk over a region. glibc_walk.c walks, glibc_repair.c handles contradictions,
 * and both record what they see by glibc_take.c.
 */
#ifndef MM_GLIBC_WALK_H
#define MM_GLIBC_WALK_H

#include "heap/census_blocks.h"
#include "heap/glibc/glibc.h"

/*
 * All of [from, next) is one chunk that is not in use, whatever heads are in it, if the walk comes there from
 * the chunk `behind` (0: from any).
 */
struct walk_joint {
	taddr from, next, behind;
};
#define WALK_JOINTS 4u

struct walk {
	struct glibc *g;
	struct glibc_region *r;
	struct glibc_arena *a;
	struct census_arena *out;
	taddr at;		/* the chunk */
	uint64_t head;		/* its size and flags */
	taddr before;		/* the chunk before it; 0: it is the first, or the walk was lost */
	taddr piece;		/* where the piece began */
	struct census_sum used, bins;
	struct walk_joint joints[WALK_JOINTS];
	size_t njoints;
	uint64_t *dead;		/* a bit for 16 bytes: chunks from which the sizes lead to no piece's end */
	bool again;		/* a joint begins before w->at: what has been counted since is wrong */
	bool done;
};

static inline uint64_t walk_size(uint64_t head)
{
	return head & ~(uint64_t)GLIBC_FLAGS;
}

/* Can @head be the head of a chunk at @at? */
static inline bool walk_is_head(const struct walk *w, taddr at, uint64_t head)
{
	const uint64_t size = walk_size(head);

	return size >= 16 && !(size % GLIBC_ALIGN) && at < w->r->hi && size <= w->r->hi - at &&
	       !(head & GLIBC_MMAPPED) && !(w->r->arena == 0 && head & GLIBC_FOREIGN_ARENA);
}

/* --- glibc_take.c --- */

/* Room for all blocks that there can be. false: no memory. */
bool take_reserve(struct glibc *g);

/* A block of the program's, or an arena's memory, into the census; without memory: g->no_memory. */
static inline void take_block(struct glibc *g, taddr addr, uint64_t size)
{
	if (!census_blocks_add(g->c, addr, size))
		g->no_memory = true;
}

void take_area(struct glibc *g, taddr lo, taddr hi, uint32_t arena);

void walk_take_free(struct walk *w, taddr at, uint64_t size);

/* Continue at @next with whatever head is there; the chunk before it is not known. */
void walk_go_on(struct walk *w, taddr next);

/* The piece ends at @end. */
void walk_end_piece(struct walk *w, taddr end);

/* The piece ends with the region; nothing comes after it. */
void walk_end(struct walk *w);

/* --- glibc_repair.c --- */

/*
 * Do the sizes lead from @at to the top, to fenceposts, or to a chunk that a list contains? Chunks from which
 * they lead nowhere are marked in *@dead.
 */
bool walk_leads_on(struct walk *w, taddr at, uint64_t **dead);

/*
 * The chunk at w->at is the last that a thread at work put into the first bin: it may be the rest of a chunk
 * that is being split. true: w has changed, and the walk continues with it.
 */
bool walk_cut(struct walk *w);

/* Before the walk over a region of a busy arena: joints for what realloc is cutting off right now. */
void walk_note_rests(struct walk *w);

/* There is no head at w->at: continue where something else shows a chunk. */
void walk_bad_head(struct walk *w);

/*
 * The chunk at w->at is free by the bit in @next's @head, but the word before that is not its size but
 * @before.
 */
void walk_bad_foot(struct walk *w, taddr next, uint64_t before, uint64_t head);

#endif

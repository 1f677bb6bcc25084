/* SPDX-License-Identifier: MIT */
/*
 * glibc_walk: where a walk over a region stands. glibc_walk.c walks, glibc_repair.c finds the way again, and both take down what they see
 * by glibc_take.c.
 */
#ifndef MM_GLIBC_WALK_H
#define MM_GLIBC_WALK_H

#include "heap/glibc/glibc.h"

/* All of [from, next) is one chunk that is not in use, whatever the heads in it say; if the way comes there from the chunk `behind` (0: from any). */
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
	taddr before;		/* the chunk before it; 0: it is the first, or the way was lost */
	taddr piece;		/* where the piece began */
	struct census_sum used, bins;
	struct walk_joint joints[WALK_JOINTS];
	size_t njoints;
	uint64_t *dead;		/* a bit for 16 bytes: chunks from where the sizes lead to no piece's end */
	bool again;		/* one was found that begins further up: what has been counted since is wrong */
	bool done;
};

static inline uint64_t walk_size(uint64_t head)
{
	return head & ~(uint64_t)GLIBC_FLAGS;
}

/* Can @head be a chunk's that begins at @at? */
static inline bool walk_is_head(const struct walk *w, taddr at, uint64_t head)
{
	const uint64_t size = walk_size(head);

	return size >= 16 && !(size % GLIBC_ALIGN) && at < w->r->hi && size <= w->r->hi - at && !(head & GLIBC_MMAPPED) &&
	       !(w->r->arena == 0 && head & GLIBC_FOREIGN_ARENA);
}

/* --- glibc_take.c --- */

/* Room for all blocks that there can be. false: no memory. */
bool take_reserve(struct glibc *g);

/* It is full after all: more room, or false. */
bool take_grow(struct census *c);

/* A block of the program's, an arena's memory, into the census; what there is no memory for: g->no_memory. */
static inline void take_block(struct glibc *g, taddr addr, uint64_t size)
{
	struct census *c = g->c;

	if (c->nblocks == c->block_room && !take_grow(c))
		g->no_memory = true;
	else
		c->blocks[c->nblocks++] = (struct block){ addr, size };
}

void take_area(struct glibc *g, taddr lo, taddr hi, uint32_t arena);

void walk_take_free(struct walk *w, taddr at, uint64_t size);

/* Go on at @next with whatever head is there; what is before it is not known. */
void walk_go_on(struct walk *w, taddr next);

/* The piece is over, at @end. */
void walk_end_piece(struct walk *w, taddr end);

/* The piece ends with the region; nothing is behind it. */
void walk_end(struct walk *w);

/* --- glibc_repair.c --- */

/* Do the sizes lead from @at to the top, to fenceposts, or to a chunk that a list knows? Heads on ways that led nowhere are marked in *@dead. */
bool walk_leads_on(struct walk *w, taddr at, uint64_t **dead);

/* The chunk at w->at was put into the first bin last, by a thread at work: it may be the rest of one that is being cut. true: the walk has to go on with w anew. */
bool walk_cut(struct walk *w);

/* Before the walk over a region whose arena is at work: joints for what realloc is cutting off right now. */
void walk_note_rests(struct walk *w);

/* What has no head is at w->at: go on where something else tells of a chunk. */
void walk_bad_head(struct walk *w);

/* The chunk at w->at is free by the bit in @next's @head, but in front of that is not its size but @before. */
void walk_bad_foot(struct walk *w, taddr next, uint64_t before, uint64_t head);

#endif

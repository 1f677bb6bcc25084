/* SPDX-License-Identifier: MIT */
/*
 * flood: what the roots reach, and what that reaches.
 *
 *	roots ──start pointers──▶ reachable ──others──▶ hinted ──any pointer──▶ possible        the rest: lost
 *
 * A block is reachable if a chain of pointers to beginnings leads to it (those of the heuristics count as
 * such); it is possibly lost if only a chain with some other pointer does. So first, pointers to beginnings
 * are followed to the end, and blocks that other pointers hit are noted; then all pointers are followed from
 * the blocks that were noted and not reached meanwhile. Each block is read once, and the result does not
 * depend on the order. The walkers read the blocks (walker.h).
 */
#ifndef MM_FLOOD_H
#define MM_FLOOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "heap/census.h"
#include "heap/reach/blockindex.h"
#include "heap/reach/headers.h"
#include "heap/reach/roots.h"
#include "heap/snapshot/snapshot.h"

/* State of each block, during the flood. */
enum flood_state {
	FLOOD_REACHED = 1 << 0,
	FLOOD_HINTED = 1 << 1,		/* something reachable points into it */
	FLOOD_POSSIBLE = 1 << 2,
	FLOOD_LEADER = 1 << 3,		/* lost, and nothing lost points to it so far */
	FLOOD_INDIRECT = 1 << 4,
	FLOOD_PENDING = 1 << 5,		/* still to be read */
	FLOOD_NOT_LOST = FLOOD_REACHED | FLOOD_HINTED | FLOOD_POSSIBLE,
};

struct flood {
	const struct snapshot *s;
	const struct block_index *ix;
	unsigned heuristics;
	uint32_t headers;		/* distances from its beginning that mean a block, too (headers.h) */
	struct headers behind;		/* distances of pointers to the possibly lost ones */
	const struct census *census;	/* NULL: none; whose blocks may be given out by an inner address */
	bool exact;			/* sizes: heuristics.h */
	uint8_t *state;			/* enum flood_state, for each block; zeros to begin with */
	uint32_t *leader;		/* of the lost ones: set by flood_lost */
	uint64_t words;			/* words read */
	uint64_t memory;		/* bytes of the stacks, at most */
};

/* 0 or -ENOMEM. */
must_check int flood_run(struct flood *f, struct roots *roots, unsigned threads);

/*
 * After that: which of the lost blocks are lost with another one (FLOOD_INDIRECT). The algorithm is
 * valgrind's: in the order of addresses, each block to which no pointer has led yet becomes a leader, and all
 * lost blocks without a leader that can be reached from it get this leader. If one of them was a leader
 * itself, it is taken over, with its blocks. Blocks that have a leader are not followed again: so a ring has
 * one leader, the first by address, unless a later leader points to just that one. f->leader: the block's
 * leader, which may have been taken over in its turn.
 */
must_check int flood_lost(struct flood *f);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * flood: what the roots reach, and what that reaches.
 *
 *	roots ──start pointers──▶ reachable ──others──▶ hinted ──any pointer──▶ possible          what is left: lost
 *
 * Reachable is what a chain of pointers to beginnings leads to (the heuristics' count as such); possible is what
 * only a chain leads to that has another somewhere. So first the one kind is followed to the end, and what the other kind hits on the way is noted;
 * then from all that was noted and not reached meanwhile, by both kinds. Each block is read once, and the result does not depend on any order.
 * How each block is read is the walkers' (walker.h).
 */
#ifndef MM_FLOOD_H
#define MM_FLOOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "heap/reach/blockindex.h"
#include "heap/reach/headers.h"
#include "heap/reach/roots.h"
#include "heap/snapshot/snapshot.h"

/* Of each block, while it goes on. */
enum flood_state {
	FLOOD_REACHED = 1 << 0,
	FLOOD_HINTED = 1 << 1,		/* something reachable points into it */
	FLOOD_POSSIBLE = 1 << 2,
	FLOOD_LEADER = 1 << 3,		/* lost, and nothing lost points to it so far */
	FLOOD_INDIRECT = 1 << 4,
	FLOOD_PENDING = 1 << 5,		/* to be read yet */
	FLOOD_NOT_LOST = FLOOD_REACHED | FLOOD_HINTED | FLOOD_POSSIBLE,
};

struct flood {
	const struct snapshot *s;
	const struct block_index *ix;
	unsigned heuristics;
	uint32_t headers;		/* distances behind a block's beginning that mean it, too (headers.h) */
	struct headers behind;		/* of the possibly lost ones */
	bool exact;			/* sizes: heuristics.h */
	uint8_t *state;			/* enum flood_state, for each block; zeros to begin with */
	uint32_t *leader;		/* of the lost ones: by flood_lost */
	uint64_t words;			/* looked at */
	uint64_t memory;		/* most bytes of the stacks */
};

/* 0 or -ENOMEM. */
must_check int flood_run(struct flood *f, struct roots *roots, unsigned threads);

/*
 * Behind that: which of the lost ones are lost with another (FLOOD_INDIRECT). As valgrind goes about it: from each in the order of addresses that nothing
 * has led to yet, the leader, to all that are lost and nobody's yet; one that led others itself is taken over, and they with it. What is somebody's
 * already is not gone through again: so a ring has one leader, the first by address, unless a later one points to just that one.
 * f->leader: who led to it; that one may have been taken over in its turn.
 */
must_check int flood_lost(struct flood *f);

#endif

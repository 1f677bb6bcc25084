/* SPDX-License-Identifier: MIT */
/*
 * walker: one thread that goes from block to block.
 *
 * Nearly each step needs a line of memory that is in no cache: the index's word, the block's state, its
 * address, its first bytes. So no step waits for its line: it prefetches the line, and stays in a queue until
 * the steps before it are done.
 *
 *	words ─probe─▶ [probed: words of the index] ─resolve─▶ [resolved: states] ─mark─▶ stack, or pending
 *	stack, or a sweep ─▶ [popped: addresses of blocks] ─▶ [placed: contents] ─▶ words
 *
 * Blocks that were found and are still to be read are on a stack, as in a depth-first search. If there are
 * many, they are not read in the order in which they were found: they are only marked as pending, and then
 * all pending blocks are read in the order of addresses, in a sweep. That halved the time: contents and
 * addresses of blocks come in order, where each was a page that the processor had to look up.
 */
#ifndef MM_WALKER_H
#define MM_WALKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "heap/reach/blockindex.h"
#include "heap/reach/flood.h"
#include "heap/reach/headers.h"

#define WALKER_QUEUE 32u		/* steps that wait for their line: more than a processor can load */
#define WALKER_STACK (1u << 16)

/* Which pointers are followed, and the state of the blocks that they hit. */
enum walk {
	WALK_STRONG,			/* pointers to beginnings: reachable; blocks of others are hinted */
	WALK_ANY,			/* possible */
	WALK_LOST,			/* indirectly lost, with walker.leader */
};

struct walk_probed {
	taddr v;
	struct block_probe p;
};

struct walk_resolved {
	taddr v;
	uint32_t block;
	bool start;
};

struct walk_placed {
	const uint8_t *bytes;
	uint64_t n;
	uint32_t block;
};

/* Queues: `head` is the next to be processed, at most WALKER_QUEUE before `tail`. */
struct walker {
	struct flood *f;
	const struct snapshot *s;
	const struct block *blocks;
	uint8_t *state;
	uint32_t leader;		/* WALK_LOST: the leader of the clique */
	bool spill;			/* blocks that are found are marked as pending, not pushed */
	uint32_t *stack;
	size_t depth;
	int64_t pending;		/* marked less taken by this walker: only the sum over all counts */
	uint64_t words;
	struct headers behind;		/* distances of pointers to blocks that are not reachable */
	struct walk_probed probed[WALKER_QUEUE];
	struct walk_resolved resolved[WALKER_QUEUE];
	uint32_t popped[WALKER_QUEUE];
	struct walk_placed placed[WALKER_QUEUE];
	unsigned probed_head, probed_tail, resolved_head, resolved_tail, popped_head, popped_tail,
		placed_head, placed_tail;
};

/* 0 or -ENOMEM. */
must_check int walker_init(struct walker *w, struct flood *f);
void walker_fini(struct walker *w);

/*
 * Scan @n words at @bytes, which are aligned to 8. The blocks that they reach are then in queues, on the
 * stack, or pending.
 */
void walker_scan(struct walker *w, const void *bytes, size_t n, enum walk how);

/* Work until stack and queues are empty. */
void walker_flow(struct walker *w, enum walk how);

/*
 * Read all pending blocks from @from to @to, in their order; what they point to becomes pending. Other
 * walkers may sweep other blocks.
 */
void walker_sweep(struct walker *w, size_t from, size_t to, enum walk how);

/* Move all pending blocks, if they are few, to the stack. No other walker may be at work. */
void walker_gather(struct walker *w);

/* Block @block is to be read: the caller has marked it. */
void walker_push(struct walker *w, uint32_t block);

#endif

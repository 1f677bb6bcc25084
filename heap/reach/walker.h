/* SPDX-License-Identifier: MIT */
/*
 * walker: one thread that goes from block to block.
 *
 * Nearly each step is a line of memory that no cache has: the index's word, the block's state, its place, its first bytes.
 * So no step waits for its line: it is asked for, and the step stands in a queue until others before it are done.
 *
 *	words ─probe─▶ [probed: words of the index] ─resolve─▶ [resolved: states] ─mark─▶ stack, or pending
 *	stack, or a sweep ─▶ [popped: places of blocks] ─▶ [placed: contents] ─▶ words
 *
 * What has been found and is to be read stands on a stack, which is followed like a thread through a maze. But where there is much of it, memory
 * is not read in the order in which it was found: it is only marked as pending, and then all that is pending is read in the order of
 * addresses, in a sweep. That took half of the time away: contents and places of blocks come in their order, where each was a page that
 * the processor had to look up.
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

#define WALKER_QUEUE 32u		/* steps that wait for their line: more than the processor can have under way */
#define WALKER_STACK (1u << 16)

/* Which pointers are followed, and what becomes of what they hit. */
enum walk {
	WALK_STRONG,			/* those to beginnings: reachable; others are noted: hinted */
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

/* Queues: `head` is taken next, at most WALKER_QUEUE before `tail`. */
struct walker {
	struct flood *f;
	const struct snapshot *s;
	const struct block *blocks;
	uint8_t *state;
	uint32_t leader;		/* WALK_LOST: whose clique it is */
	bool spill;			/* what is found is marked as pending, not pushed */
	uint32_t *stack;
	size_t depth;
	int64_t pending;		/* marked, less taken, by this one: only the sum over all walkers means something */
	uint64_t words;
	struct headers behind;		/* of blocks that are pointed at behind their beginning */
	struct walk_probed probed[WALKER_QUEUE];
	struct walk_resolved resolved[WALKER_QUEUE];
	uint32_t popped[WALKER_QUEUE];
	struct walk_placed placed[WALKER_QUEUE];
	unsigned probed_head, probed_tail, resolved_head, resolved_tail, popped_head, popped_tail, placed_head, placed_tail;
};

/* 0 or -ENOMEM. */
must_check int walker_init(struct walker *w, struct flood *f);
void walker_fini(struct walker *w);

/* @n words at @bytes, which are aligned to 8. What they reach stands in queues or on the stack afterwards, or is pending. */
void walker_scan(struct walker *w, const void *bytes, size_t n, enum walk how);

/* Until stack and queues are empty. */
void walker_flow(struct walker *w, enum walk how);

/* Read all that is pending of blocks from @from to @to, in their order; what they point to becomes pending. Other walkers may sweep other blocks. */
void walker_sweep(struct walker *w, size_t from, size_t to, enum walk how);

/* All that is pending, few as they are, onto the stack. No other walker is at work. */
void walker_gather(struct walker *w);

/* Block @block is to be read: the caller has marked it. */
void walker_push(struct walker *w, uint32_t block);

#endif

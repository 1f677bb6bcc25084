/* SPDX-License-Identifier: MIT */
/*
 * sampling_stacks: who asked for the blocks that were seen, and what became of those that are followed: the values that MMT_SAMPLE tells.
 *
 * Of a stack at most SAMPLING_FOLLOWED blocks are followed at a time, and they are a sample of all that were seen there, whenever that
 * was: when there are so many, the n-th one takes the place of one of them with probability SAMPLING_FOLLOWED / n. So the old ones are
 * there, by which a leak is known, and the young ones, by which it is known that it goes on; and what a stack costs stays the same in a run of weeks.
 */
#ifndef MM_SAMPLING_STACKS_H
#define MM_SAMPLING_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/sampling/blocks/following.h"
#include "attach/sampling/sampling_spans.h"
#include "base/addrmap.h"
#include "base/cleanup.h"
#include "base/taddr.h"
#include "report/sampling/survival.h"

#define SAMPLING_FOLLOWED 200u
#define SAMPLING_STACKS 20000u
#define SAMPLING_OLD_NS 3000000000ull	/* a block of that age is not young any more */

struct sampling_stack {
	uint32_t number;			/* of the stack */
	uint32_t site;				/* index */
	uint64_t seen, chunk_bytes;
	struct sampling_spans when;		/* they were seen */
	struct survival_step ended[SURVIVAL_STEPS];	/* of blocks that are not followed any more */
	struct survival_step now[SURVIVAL_STEPS];	/* and of those that are: as of the last sampling_stacks_survey */
	uint64_t gone;
	taddr *held;				/* the blocks that are followed */
	uint32_t nheld, held_room;
	uint32_t old;				/* of them: not young any more, as of the last survey */
	bool changed;				/* since it was told; */
	uint64_t told_us;			/* its site had been exposed for so long then */
};

struct sampling_stacks {
	struct sampling_stack *all;
	size_t n, room;
	struct addrmap by_number;		/* -> index */
	struct following *following;		/* the caller's */
	uint64_t begin_ns;
	uint64_t unkept;			/* hits of more stacks than can be kept */
	uint64_t unfollowed;			/* more blocks than can be */
	uint64_t random;
};

void sampling_stacks_init(struct sampling_stacks *s, struct following *following, uint64_t begin_ns);
void sampling_stacks_fini(struct sampling_stacks *s);

/* Stack @number at site @site. Its index in @i. 0, -ENOSPC, -ENOMEM. */
must_check int sampling_stacks_find(struct sampling_stacks *s, uint32_t number, uint32_t site, uint32_t *i);

/* A block of @chunk_bytes was given out there. */
void sampling_stacks_see(struct sampling_stacks *s, uint32_t i, uint64_t chunk_bytes, uint64_t now_ns);

/* Is the block at @addr followed, and of that stack? */
bool sampling_stacks_holds(const struct sampling_stacks *s, uint32_t i, taddr addr);

/*
 * Is the next block of that stack to be followed? If for that another one must go, it is @instead: dropped already, and to be told so; else that is 0.
 */
bool sampling_stacks_wants(struct sampling_stacks *s, uint32_t i, taddr *instead);

/* It is followed. 0 or -ENOMEM (then it must not be). */
must_check int sampling_stacks_hold(struct sampling_stacks *s, uint32_t i, taddr addr);

/* It is not followed any more. @b->stack is the index. */
void sampling_stacks_over(struct sampling_stacks *s, const struct followed *b, enum fate fate, uint64_t now_ns);

/* All followed blocks are dropped, one after the other: the address of one in @addr; false: there is none. What was counted is forgotten. */
bool sampling_stacks_clear(struct sampling_stacks *s, uint32_t i, taddr *addr);

/* Count what is followed: `now` and `old` of all stacks. */
void sampling_stacks_survey(struct sampling_stacks *s);

/* The steps of ended and followed ones together. */
void sampling_stacks_steps(const struct sampling_stack *stack, struct survival_step out[SURVIVAL_STEPS]);

#endif

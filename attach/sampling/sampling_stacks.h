/* SPDX-License-Identifier: MIT */
/*
 * sampling_stacks: the stacks that allocated the blocks seen, and what became of those that are tracked: the
 * values of MMT_SAMPLE.
 *
 * At most SAMPLING_TRACKED blocks of a stack are tracked at a time, and they are a sample of all blocks seen
 * there, at any time: from that number on, the n-th block replaces one of them with probability
 * SAMPLING_TRACKED / n. So there are old blocks, which show a leak, and young ones, which show that it
 * continues; and the cost of a stack stays the same in a run of weeks.
 */
#ifndef MM_SAMPLING_STACKS_H
#define MM_SAMPLING_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/sampling/blocks/block_poll.h"
#include "attach/sampling/sampling_spans.h"
#include "base/addrmap.h"
#include "base/cleanup.h"
#include "base/taddr.h"
#include "report/sampling/survival.h"
#include "trace/fact.h"

#define SAMPLING_TRACKED 200u
#define SAMPLING_STACKS 20000u
#define SAMPLING_LOST_SIZES 8u
#define SAMPLING_OLD_NS 3000000000ull	/* a block of that age is not young any more */

struct sampling_stack {
	uint32_t number;			/* of the stack */
	uint32_t site;				/* index */
	uint64_t seen, usable_bytes;
	struct sampling_spans when;		/* when blocks were seen */
	struct survival_step ended[SURVIVAL_STEPS];	/* of blocks that are not tracked any more */
	struct survival_step now[SURVIVAL_STEPS];	/* and of those that are, at the last survey */
	uint64_t gone;
	/* in windows: blocks seen, and those of them whose addresses were given out again soon (sampling_again.h) */
	uint32_t given, again;
	bool handed_on;				/* more of these than can be among the tracked blocks that stay */
	/* of the blocks that stayed live: they seem lost, but not all was seen; they were not looked for */
	uint32_t unsure, unjudged;
	uint32_t searched, lost;			/* as in struct fact_sample, */
	struct fact_losing losing;			/* and this, too */
	taddr *held;				/* the blocks that are tracked */
	uint32_t nheld, held_room;
	uint32_t old;				/* of these: not young any more, as of the last survey */
	bool changed;				/* since it was recorded last; */
	uint64_t reported;			/* exposure of its site when it was recorded last */
};

/* A stack that no trap has seen, but the kernel's probes. */
struct sampling_other {
	uint32_t family, number;
	struct fact_losing its;
};

struct sampling_stacks {
	struct sampling_stack *all;
	size_t n, room;
	struct sampling_other *others;
	size_t nothers, others_room;
	struct addrmap by_number;		/* -> index */
	struct block_poll *poll;		/* the caller's */
	uint64_t begin_ns;
	uint64_t stacks_without_room;			/* hits of stacks for which there was no room */
	uint64_t blocks_without_room;			/* blocks that could not be tracked */
	uint64_t random;
	uint64_t lost_sizes[SAMPLING_LOST_SIZES];	/* usable bytes of blocks that the process is known to lose */
	uint32_t nlost_sizes;
};

void sampling_stacks_init(struct sampling_stacks *s, struct block_poll *poll, uint64_t begin_ns);
void sampling_stacks_fini(struct sampling_stacks *s);

/* Stack @number at site @site. Its index in @i. 0, -ENOSPC, -ENOMEM. */
must_check int sampling_stacks_find(struct sampling_stacks *s, uint32_t number, uint32_t site, uint32_t *i);

/* A block with so many usable bytes was allocated there. */
void sampling_stacks_see(struct sampling_stacks *s, uint32_t i, uint64_t usable_bytes, uint64_t now_ns);

/* Is the block at @addr tracked, and of that stack? */
bool sampling_stacks_holds(const struct sampling_stacks *s, uint32_t i, taddr addr);

/*
 * Is the next block of that stack to be tracked? If another block must make room for it, @instead is its
 * address: it is not tracked any more, which the caller must record; else 0.
 */
bool sampling_stacks_wants(struct sampling_stacks *s, uint32_t i, taddr *instead);

/* It is tracked from now on. 0 or -ENOMEM (then it must not be). */
must_check int sampling_stacks_hold(struct sampling_stacks *s, uint32_t i, taddr addr);

/* It is not tracked any more. @b->stack is the index. */
void sampling_stacks_over(struct sampling_stacks *s, const struct tracked *b, enum fate fate,
			  uint64_t now_ns);

/*
 * Stops tracking the blocks of a stack, one at each call: its address in @addr. false: there was none left,
 * and what was counted is forgotten.
 */
bool sampling_stacks_clear(struct sampling_stacks *s, uint32_t i, taddr *addr);

/* In a window, a block of that stack was given out; its address was given out again. */
void sampling_stacks_given(struct sampling_stacks *s, uint32_t i);
void sampling_stacks_again(struct sampling_stacks *s, uint32_t i);

/*
 * Count the tracked blocks: `now` and `old` of all stacks. Where windows contradict what the tracked blocks show,
 * these may be others: none counts as old, and what becomes of them is unknown from some age on.
 */
void sampling_stacks_survey(struct sampling_stacks *s);

/* The first of these sizes are those of blocks that the process loses. */
void sampling_stacks_lost_sizes(struct sampling_stacks *s, const uint64_t *sizes, size_t n);

/* Are the stack's blocks of such a size? */
bool sampling_stacks_may_lose(const struct sampling_stacks *s, const struct sampling_stack *stack);

/*
 * What the kernel's probes have seen of stack @number, whose blocks are of family @family. 0, or -ENOMEM. If no trap has
 * seen that stack, it is one of `others`.
 */
must_check int sampling_stacks_losing(struct sampling_stacks *s, uint32_t family, uint32_t number,
				      const struct fact_losing *its);

/* The steps of ended and tracked blocks together. */
void sampling_stacks_steps(const struct sampling_stack *stack, struct survival_step out[SURVIVAL_STEPS]);

#endif

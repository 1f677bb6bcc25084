/* SPDX-License-Identifier: MIT */
/*
 * sampling_again: which stacks' blocks are freed soon, as seen where malloc itself returns.
 *
 * A trap there sees a row of allocations, by all callers (a window). An address that malloc gives out twice
 * was freed in between: for that, free need not be watched.
 *
 *	malloc returns X to parse_key	X is its block
 *	malloc returns X to log_error	parse_key's was freed; X is log_error's
 *
 * A tracked block is first looked at a millisecond after its birth. If it was freed by then, and its address
 * given to a block that stays live, it seems to stay; where that is so of most blocks, a place that frees all it
 * allocates looks like a leak. What windows show of the same stack contradicts it (sampling_stacks_survey).
 *
 * Only what is given out again within SAMPLING_AGAIN_NS counts: a block that leaks is older. The end of a window
 * hides some, so the share is a lower bound.
 */
#ifndef MM_SAMPLING_AGAIN_H
#define MM_SAMPLING_AGAIN_H

#include <stdint.h>

#include "base/addrmap.h"
#include "base/cleanup.h"
#include "base/taddr.h"

#define SAMPLING_AGAIN_NS 1000000000ull
#define SAMPLING_GIVEN 256u	/* the last so many allocations are compared */

struct sampling_given {
	taddr addr;		/* 0: none */
	uint64_t at_ns;
	uint32_t target;	/* what has returned it */
	uint32_t stack;		/* the index of its stack, or SAMPLING_NONE */
};

struct sampling_again {
	struct sampling_given given[SAMPLING_GIVEN];
	uint32_t next;
	struct addrmap stacks;	/* a site and the node of its caller -> index of the stack */
};

void sampling_again_init(struct sampling_again *a);
void sampling_again_fini(struct sampling_again *a);

/*
 * The stack with index @stack leads to site number @site, whose function was called from node @above of the trie
 * (DEFS_NONE: from nowhere). 0 or -ENOMEM.
 */
must_check int sampling_again_learn(struct sampling_again *a, uint32_t site, uint32_t above, uint32_t stack);

/* The index of the stack that leads there by these frames; SAMPLING_NONE: none is known. */
uint32_t sampling_again_stack(const struct sampling_again *a, uint32_t site, uint32_t above);

/*
 * Target @target returned the block at @addr, of the stack with index @stack (SAMPLING_NONE: not known). Returns
 * the stack whose block was at this address until then, and so was freed; SAMPLING_NONE: none is known.
 */
uint32_t sampling_again_see(struct sampling_again *a, taddr addr, uint32_t target, uint32_t stack, uint64_t now_ns);

#endif

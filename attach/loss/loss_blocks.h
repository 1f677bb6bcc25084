/* SPDX-License-Identifier: MIT */
/*
 * loss_blocks: blocks that were seen being allocated while the process loses such blocks, and which of them are lost.
 * Pure.
 *
 *	add		a block, by stack. If there was one at its address already, that one was freed
 *	find		the process was copied while all such allocations were seen: which of these blocks are lost in
 *			the copy? The others may be lost in a later one (loss_later.h)
 *	sum		at the end: which of those are lost still, and by that, how much of all that the process has
 *			lost is each stack's
 *
 * What has the address of a block in the copy is that block, since no allocation was missed. In a later copy it
 * may be another one, and its content must show that it is not.
 *
 * Of each size it is known how many blocks the whole process has lost, and of those that were found, by how many each
 * stack has allocated them: so large a part of all is its. One that is not lost any more at the end was pointed to from where
 * a copy does not show it: of a stack with such blocks nothing is concluded.
 */
#ifndef MM_LOSS_BLOCKS_H
#define MM_LOSS_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

#include "attach/loss/loss.h"
#include "attach/loss/loss_later.h"
#include "base/addrmap.h"
#include "base/cleanup.h"
#include "trace/fact.h"

#define LOSS_BLOCKS_MOST 200000u	/* at a time; further ones are not kept */

/* The smallest number of bytes that may have been asked for, where a block has @usable ones. */
uint64_t loss_blocks_least_request(uint64_t usable);

struct loss_stack {
	uint32_t number, family;
	uint64_t added;			/* blocks that are kept at present, and such that were freed */
	uint64_t back;			/* were lost in a copy, and are not lost at the end */
	uint64_t twice;			/* of those that are lost: in an earlier copy, too, and not in the last one only */
	uint64_t later, gone;		/* of those that were not lost at first: lost later; changed, or freed */
	struct fact_losing its;		/* all but over_us; valid after loss_blocks_sum */
	double blocks, below, above;	/* of this: not rounded, and how far the interval reaches */
};

struct loss_found {
	taddr addr;
	uint64_t size;			/* usable */
	uint32_t stack;			/* index */
	bool last;			/* found in the last copy */
	bool later;			/* it was not lost in the copy at the end of its window */
};

struct loss_blocks {
	uint64_t sizes[LOSS_SIZES];	/* usable: of these blocks are looked for */
	size_t nsizes;
	struct loss_stack *stacks;
	size_t n, room;
	struct addrmap by_number;	/* stack -> index + 1 */
	struct addrmap blocks;		/* address -> struct loss_block */
	struct loss_later later;
	struct loss_found *found;
	size_t nfound, found_room;
	size_t earlier;			/* so many were found before the present copy */
};

void loss_blocks_init(struct loss_blocks *b, const uint64_t *sizes, size_t n);
void loss_blocks_fini(struct loss_blocks *b);

/* Stack @number of family @family has allocated a block. 0 or -ENOMEM. */
struct loss_block {
	taddr addr;
	uint64_t size;			/* as asked for */
	uint64_t at_ns;
};

must_check int loss_blocks_add(struct loss_blocks *b, uint32_t family, uint32_t number,
			       const struct loss_block *its);

/* What a copy shows. */
struct loss_copied {
	uint64_t at_ns;			/* it was made then: what was allocated later does not count */
	const struct loss *lost;
	const struct addrmap *marks;	/* address -> loss_mark(), of all of loss_blocks_each; NULL: not known */
};

/* All blocks whose content a copy is to show. 0, or what @see returned if that is less. */
int loss_blocks_each(const struct loss_blocks *b, int (*see)(void *ctx, taddr addr, uint64_t size), void *ctx);

/* Which of the blocks that are kept are lost? 0 or -ENOMEM. */
must_check int loss_blocks_find(struct loss_blocks *b, const struct loss_copied *copy);

/*
 * The same for the last copy of all: what is lost there is not seen to be so in a later one.
 * So blocks that were allocated just before do not count: it may be that they are handed on by ways that a copy does not
 * show.
 */
must_check int loss_blocks_find_last(struct loss_blocks *b, const struct loss_copied *copy);

/* The copy of the last loss_blocks_find is the last of all. */
void loss_blocks_found_last(struct loss_blocks *b);

/* There is no copy: nothing is known of the blocks that were seen since the last one. */
void loss_blocks_drop(struct loss_blocks *b);

/* @lost: all that was lost meanwhile, by size (as loss_between leaves it). Once. 0 or -ENOMEM. */
must_check int loss_blocks_sum(struct loss_blocks *b, const struct loss *lost);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * block_fate_decide: what one look shows of a tracked block, in view of those before it.
 *
 *	gone		a change that only the allocator makes
 *	doubtful	both first words changed: another block, or written to; some more looks are taken, to
 *			see whether it is freed
 *	the same	otherwise
 */
#ifndef MM_BLOCK_FATE_H
#define MM_BLOCK_FATE_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/sampling/blocks/block_heap.h"
#include "attach/sampling/blocks/block_identity.h"
#include "attach/sampling/blocks/block_poll.h"

struct block_fate_decide {
	struct block_identity identity;
	struct block_poll_sums *sums;
};

/* @l: a look at @b, just taken. FATE_SAME also if it shows nothing; updates @b for the next comparison. */
enum fate block_fate_decide(struct block_fate_decide *j, struct tracked_block *b, const struct block_look *l);

#endif

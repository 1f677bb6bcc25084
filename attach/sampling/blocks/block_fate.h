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

#include "attach/sampling/blocks/block_identity.h"
#include "attach/sampling/blocks/block_poll.h"
#include "attach/sampling/blocks/block_poll_read.h"
#include "heap/glibc/tcachekey.h"

enum tracked_flags {
	TRACKED_MAPPED = 1 << 0,
	TRACKED_LOOKED = 1 << 1,	/* `state` is that of a look; else of its birth, if known */
	/* the block before it at this address was of the same stack: `was` */
	TRACKED_HEIR = 1 << 2,
	TRACKED_ALIKE = 1 << 3,
	TRACKED_JOINED = 1 << 4,	/* it has looked joined since `joined_ms` */
	TRACKED_DOUBTFUL = 1 << 5,	/* it may be another block, since `doubt_ms` */
};

struct tracked_block {
	taddr addr;
	uint64_t birth_ns;
	uint32_t seen_ms;		/* age at which it was last known to be live */
	uint32_t doubt_ms, joined_ms;
	uint32_t next;			/* number of its next look */
	uint32_t units;			/* its size, in units of 16 bytes */
	uint32_t stack;
	uint32_t place;			/* index in the queue */
	uint16_t looks;
	uint16_t was[2];
	struct chunkstate state;
	uint8_t doubts;			/* looks since it became doubtful */
	uint8_t flags;
};

struct block_fate_decide {
	struct block_identity identity;
	struct tcachekey key;
	struct block_poll_sums *sums;
};

/* @k: a look at @b, just taken. FATE_SAME also if it shows nothing; updates @b for the next comparison. */
enum fate block_fate_decide(struct block_fate_decide *j, struct tracked_block *b,
			    const struct block_poll_found *k, uint64_t now_ns);

#endif

/* SPDX-License-Identifier: MIT */
/* tracked_block: what is stored of a block that is tracked (block_poll.h). */
#ifndef MM_TRACKED_BLOCK_H
#define MM_TRACKED_BLOCK_H

#include <stdint.h>

#include "base/taddr.h"
#include "heap/glibc/chunkstate.h"

struct block_heap;

enum tracked_flags {
	TRACKED_MAPPED = 1 << 0,
	TRACKED_LOOKED = 1 << 1,	/* `state` is that of a look; else of its birth, if known */
	/* the block before it at this address was of the same stack: `was` */
	TRACKED_HEIR = 1 << 2,
	TRACKED_ALIKE = 1 << 3,
	TRACKED_JOINED = 1 << 4,	/* it has looked joined since `joined_ms` */
	TRACKED_DOUBTFUL = 1 << 5,	/* it may be another block, since `doubt_ms` */
	TRACKED_SEARCHED = 1 << 6,	/* it was looked whether something points to it: */
	TRACKED_LOST = 1 << 7,		/* nothing does; without TRACKED_SEARCHED: nothing that was seen does */
	TRACKED_JUDGED = TRACKED_SEARCHED | TRACKED_LOST,
};

struct tracked_block {
	struct block_heap *heap;
	taddr addr;
	uint64_t birth_ns;
	uint32_t seen_ms;		/* age at which it was last known to be live */
	uint32_t doubt_ms, joined_ms;
	uint32_t next;			/* number of its next look */
	uint32_t units;			/* its size, in units of TRACKED_UNIT bytes */
	uint32_t mark;			/* its heap's own */
	uint32_t stack;
	uint32_t place;			/* index in the queue */
	uint16_t looks;
	uint16_t was[2];
	struct chunkstate state;
	uint8_t doubts;			/* looks since it became doubtful */
	uint8_t flags;
};
#define TRACKED_UNIT 8u

static inline uint64_t tracked_bytes(const struct tracked_block *b)
{
	return (uint64_t)b->units * TRACKED_UNIT;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * headers: does a program put a header of its own before each block?
 *
 * Then its pointers are always to the same number of bytes after the block's beginning: MariaDB, Python's
 * garbage-collected objects, GlusterFS, arrays with their length. All these blocks would be possibly lost. So
 * for blocks without a pointer to their beginning, the distance of the first pointer that was found is
 * counted. If most of them have the same distance, and they are a good part of all blocks, a pointer at this
 * distance means the block.
 */
#ifndef MM_HEADERS_H
#define MM_HEADERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/taddr.h"

#define HEADERS_FARTHEST 256u	/* bytes; in steps of 8 */
#define HEADERS_SLOTS (HEADERS_FARTHEST / 8)

struct headers {
	uint64_t at[HEADERS_SLOTS];	/* blocks by distance: 8, 16, ... */
	uint64_t elsewhere;
};

/* The first pointer found to a block is @behind bytes after its beginning. */
static inline void headers_count(struct headers *h, uint64_t behind)
{
	if (behind && behind <= HEADERS_FARTHEST && behind % 8 == 0)
		h->at[behind / 8 - 1]++;
	else
		h->elsewhere++;
}

/* A set of distances as bits. */
static inline bool headers_has(uint32_t set, uint64_t behind)
{
	return behind && behind <= HEADERS_FARTHEST && behind % 8 == 0 && set >> (behind / 8 - 1) & 1;
}

void headers_add(struct headers *to, const struct headers *more);

/*
 * The distance of the header that most of the blocks counted in @h have, out of @nblocks in all; 0: there is
 * none.
 */
uint32_t headers_recognise(const struct headers *h, uint64_t nblocks);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * census_blocks: the list of blocks of a census while it is filled. There may be twenty million: the room for
 * as many as there can be is reserved as addresses, without memory. So nothing has to be moved, and huge
 * pages can be used: with small ones, page faults are most of the time that a census takes.
 */
#ifndef MM_CENSUS_BLOCKS_H
#define MM_CENSUS_BLOCKS_H

#include "heap/census.h"

/* Room for @most blocks; if that cannot be reserved, for half of it, and so on. false: no memory. */
bool census_blocks_reserve(struct census *c, size_t most);

/* If the room is full after all: more room, or false. */
bool census_blocks_grow(struct census *c);

/* No more blocks will come: unmap the unused room. */
void census_blocks_trim(struct census *c);

void census_blocks_free(struct census *c);

/* Add one; there must have been a census_blocks_reserve. false: no memory. */
static inline bool census_blocks_add(struct census *c, taddr addr, uint64_t size)
{
	if (c->nblocks == c->block_room && !census_blocks_grow(c))
		return false;
	c->blocks[c->nblocks++] = (struct block){ addr, size };
	return true;
}

#endif

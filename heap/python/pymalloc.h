/* SPDX-License-Identifier: MIT */
/*
 * pymalloc: CPython's own allocator in memory, for all that has 512 bytes at most.
 *
 *	table of arenas ──▶ arena (mapped) ──▶ pools ──▶ head: blocks in use, free list, size, number of its arena
 *	(a block of malloc)  256 KiB or 1 MiB  4 or      slots: blocks, or in the free list; behind `nextoffset`
 *	                                       16 KiB    none was ever given out
 *
 * No symbol is needed: each pool repeats the number of its arena in the table, so a table is hard to mistake.
 * A table is looked for among the blocks of malloc, and all are found: an interpreter within the process may
 * have one of its own. All that is read may have any value.
 *
 * What a pool says of itself is checked: the slots that are not free are as many as its head says, and the
 * pools without a block are as many as the table says.
 */
#ifndef MM_PYMALLOC_H
#define MM_PYMALLOC_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/taddr.h"
#include "heap/census.h"
#include "heap/snapshot/snapshot.h"

/* Before 3.10, and since. */
struct pymalloc_sizes {
	uint64_t arena, pool;
};

struct pymalloc_pool {
	taddr at;		/* of its first slot */
	uint32_t size;		/* of a slot; 0: none is in use */
	uint32_t slots;		/* that were ever given out */
	size_t first;		/* number of its first slot, of all slots of all pools */
};

struct pymalloc_arena {
	taddr at;		/* of its first pool */
	size_t first, pools;	/* indices in pymalloc.pools */
};

struct pymalloc {
	struct pymalloc_sizes sizes;
	struct pymalloc_arena *arenas;	/* sorted */
	size_t narenas, arena_room;
	struct pymalloc_pool *pools;
	size_t npools, pool_room;
	uint8_t *used;			/* of each slot: is it in use? */
	size_t nslots, slot_room;
	uint64_t blocks, bytes;		/* in use */
	uint64_t arena_bytes;		/* of all pools, with those that were never used */
	uint64_t free_bytes;		/* of pools with blocks: free slots and unused ends; heads are in neither */
	uint64_t empty_bytes;		/* pools without a block */
	uint64_t unseen_bytes;		/* pools that are not in the snapshot, or make no sense */
	size_t differing;		/* pools and arenas that do not agree with their own figures */
};

#define PYMALLOC_NONE SIZE_MAX

/* Of @minor of version 3. */
struct pymalloc_sizes pymalloc_sizes_of(unsigned minor);

/* All arenas whose tables are among the blocks of @c. 0, also if there are none; -ENOMEM. @out: pymalloc_fini. */
must_check int pymalloc_take(const struct snapshot *s, const struct census *c, struct pymalloc_sizes sizes,
			     struct pymalloc *out);
/* Only where they are: sorted, in @out, to be freed with free. 0 or -ENOMEM. */
must_check int pymalloc_arenas(const struct snapshot *s, const struct census *c, struct pymalloc_sizes sizes,
			       struct snapshot_range **out, size_t *n);
void pymalloc_fini(struct pymalloc *p);

/* The number of the slot that contains @at, and its pool; PYMALLOC_NONE: none does. */
size_t pymalloc_slot(const struct pymalloc *p, taddr at, const struct pymalloc_pool **pool);

/* The address of slot number @slot, of @pool. */
static inline taddr pymalloc_address(const struct pymalloc_pool *pool, size_t slot)
{
	return pool->at + (slot - pool->first) * pool->size;
}

#endif

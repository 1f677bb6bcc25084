/* SPDX-License-Identifier: MIT */
/* pymalloc_parts: what the files of pymalloc share: the structures as CPython 3.9 to 3.13 has them. */
#ifndef MM_PYMALLOC_PARTS_H
#define MM_PYMALLOC_PARTS_H

#include "heap/python/pymalloc.h"

/* An entry of the table of arenas. */
struct pymalloc_entry {
	taddr address;			/* as mapped; 0: it has no arena */
	taddr pool_address;		/* of the next pool that was never used */
	uint32_t free, total;		/* pools */
	taddr freepools, next, prev;
};

struct pymalloc_head {
	uint32_t used, padding;		/* blocks in use */
	taddr freeblock;		/* the first free one; each begins with the address of the next */
	taddr next, prev;
	uint32_t arena;			/* number in the table */
	uint32_t class;			/* (size / 16) - 1 */
	uint32_t nextoffset;		/* behind the slots that were ever given out */
	uint32_t maxnextoffset;
};

_Static_assert(sizeof(struct pymalloc_entry) == 48 && sizeof(struct pymalloc_head) == 48, "CPython's own sizes");

#define PYMALLOC_UNIT 16u
#define PYMALLOC_CLASSES 32u

static inline taddr pymalloc_base(const struct pymalloc *p, const struct pymalloc_entry *e)
{
	return (e->address + p->sizes.pool - 1) & ~(p->sizes.pool - 1);
}

/* One fewer, if it does not begin with one. */
static inline uint64_t pymalloc_pools_of(const struct pymalloc *p, const struct pymalloc_entry *e)
{
	return p->sizes.arena / p->sizes.pool - (e->address % p->sizes.pool != 0);
}

/* Add the arena, number @number of its table, with its pools. 0 or -ENOMEM. */
must_check int pymalloc_take_arena(struct pymalloc *p, const struct snapshot *s, const struct pymalloc_entry *e,
				   uint32_t number);

#endif

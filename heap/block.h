/* SPDX-License-Identifier: MIT */
/*
 * block: memory that an allocator has given out: the census lists blocks, the flood gives them verdicts.
 * Sorted by address; no two overlap.
 */
#ifndef MM_HEAP_BLOCK_H
#define MM_HEAP_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr_search.h"
#include "base/taddr.h"

struct block {
	taddr addr;	/* what malloc returned */
	uint64_t size;	/* usable bytes, as malloc_usable_size returns them */
};

/* valgrind's rule: a block of no bytes counts as one byte; otherwise all of them would be lost. */
static inline bool block_holds(const struct block *b, taddr at)
{
	return at - b->addr < (b->size ? b->size : 1);
}

/* The index of the one of @n blocks that contains @at, or @n. */
static inline size_t block_over(const struct block *all, size_t n, taddr at)
{
	const size_t i = ADDR_SEARCH(all, n, addr, at);

	return i && block_holds(&all[i - 1], at) ? i - 1 : n;
}

/* The index of the block that begins at @at, or @n. */
static inline size_t block_at(const struct block *all, size_t n, taddr at)
{
	const size_t i = block_over(all, n, at);

	return i < n && all[i].addr == at ? i : n;
}

/* For qsort. */
static inline int block_order(const void *pa, const void *pb)
{
	const struct block *a = pa, *b = pb;

	return (a->addr > b->addr) - (a->addr < b->addr);
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * blockindex: which block does an address point into? For floods: tens of millions of blocks, a billion
 * lookups.
 *
 * A bit for each 16 bytes says whether a block begins there, and each word of 48 such bits has the number of
 * blocks that begin before it in its leaf (its rank, in the upper 16 bits): so the number of an address's
 * block comes out of one cache line.
 *
 *	address ──>>33──▶ mids[] ──>>20──▶ a leaf of 1 MiB: 1366 words, and how many blocks begin before it
 *	                                   the address's word: number of bits up to its own + rank + base - 1
 *
 * A page table of blocks with binary search took 2 to 4 times as long at 10 to 20 million blocks. About 3
 * bytes per block of 200. A lookup has two steps, so that the caller can prefetch the word's line:
 *
 *	struct block_probe p;
 *	if (block_index_probe(ix, v, &p)) {		nearly all words end here: they are no pointers
 *		prefetch(p.word); ... ;
 *		n = block_index_resolve(ix, v, &p, &start);
 *
 * What does not fit this scheme (starts that are no multiples of 16, addresses above 2^47) is searched for in
 * the sorted blocks.
 */
#ifndef MM_BLOCKINDEX_H
#define MM_BLOCKINDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "heap/block.h"

#define BLOCK_NONE UINT32_MAX
#define BLOCKS_MAX (UINT32_MAX - 1)

#define INDEX_WORD_BITS 48u
#define INDEX_STARTS ((UINT64_C(1) << INDEX_WORD_BITS) - 1)
#define INDEX_GRANULE_SHIFT 4
#define INDEX_LEAF_SHIFT 20
#define INDEX_LEAF_WORDS 1366u		/* 65,536 granules, 48 a word */
#define INDEX_MID_SHIFT 33
#define INDEX_MID_LEAVES (1u << (INDEX_MID_SHIFT - INDEX_LEAF_SHIFT))
#define INDEX_TOP_SHIFT 47
#define INDEX_MIDS (1u << (INDEX_TOP_SHIFT - INDEX_MID_SHIFT))

struct block_leaf {
	uint32_t words;		/* 0: no block is here; else 1 + index of its words; or INDEX_SEARCH */
	uint32_t base;		/* blocks that begin before it */
};
#define INDEX_SEARCH UINT32_MAX	/* the blocks have to be searched */

struct block_index {
	const struct block *blocks;	/* the caller owns them */
	size_t n;
	taddr lo;
	uint64_t span;			/* of all blocks, from lo on */
	struct block_leaf **mids;	/* NULL: no block is in these 8 GiB */
	struct block_leaf *searched;	/* shared by all 8 GiB that lie inside of a block */
	uint64_t *words;
	size_t format_size;		/* bytes, mapped */
	uint64_t memory;		/* bytes allocated in all */
};

struct block_probe {
	const uint64_t *word;		/* NULL: the blocks have to be searched */
	uint32_t base;
	uint32_t bit;			/* of the word */
};

/*
 * @blocks stay the caller's, and must not change. 0; -EINVAL: not sorted, or two at one address, or beyond
 * the end of all addresses; -E2BIG; -ENOMEM.
 */
must_check int block_index_init(struct block_index *ix, const struct block *blocks, size_t n);
void block_index_fini(struct block_index *ix);

/* The last block that begins at or before @v, by binary search; BLOCK_NONE if there is none. */
uint32_t block_index_search(const struct block_index *ix, taddr v);

/* May @v point into a block? false: it certainly does not. */
static inline bool block_index_probe(const struct block_index *ix, taddr v, struct block_probe *p)
{
	const struct block_leaf *leaf;
	uint32_t granule, word;

	if (v - ix->lo >= ix->span)
		return false;
	*p = (struct block_probe){ NULL, 0, 0 };
	if (v >> INDEX_TOP_SHIFT)
		return true;
	leaf = ix->mids[v >> INDEX_MID_SHIFT];
	if (!leaf)
		return false;
	leaf += (v >> INDEX_LEAF_SHIFT) % INDEX_MID_LEAVES;
	if (!leaf->words)
		return false;
	if (leaf->words == INDEX_SEARCH)
		return true;
	granule = (v >> INDEX_GRANULE_SHIFT) & 0xffff;
	word = granule / INDEX_WORD_BITS;
	p->word = ix->words + (size_t)(leaf->words - 1) * INDEX_LEAF_WORDS + word;
	p->bit = granule - word * INDEX_WORD_BITS;
	p->base = leaf->base;
	return true;
}

/* The number of ones in @x. Not the compiler's builtin: without -mpopcnt that is a call and a table. */
static inline uint32_t ones(uint64_t x)
{
	x -= x >> 1 & 0x5555555555555555u;
	x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
	x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
	return (uint32_t)(x * 0x0101010101010101u >> 56);
}

/*
 * The last block that begins at or before @v, or BLOCK_NONE. If @start is true, it begins at @v; otherwise
 * the caller has to check whether the block contains @v (block_holds), or begins there.
 */
static inline uint32_t block_index_resolve(const struct block_index *ix, taddr v, const struct block_probe *p,
					   bool *start)
{
	uint64_t word;

	*start = false;
	if (!p->word)
		return block_index_search(ix, v);
	word = *p->word;
	*start = word >> p->bit & 1 && !(v & 15);
	return p->base + (uint32_t)(word >> INDEX_WORD_BITS) +
	       ones(word & ((UINT64_C(2) << p->bit) - 1) & INDEX_STARTS) - 1;
}

/* The block that contains @v, or BLOCK_NONE. */
static inline uint32_t block_index_find(const struct block_index *ix, taddr v)
{
	struct block_probe p;
	uint32_t n;
	bool start;

	if (!block_index_probe(ix, v, &p))
		return BLOCK_NONE;
	n = block_index_resolve(ix, v, &p, &start);
	return n != BLOCK_NONE && block_holds(&ix->blocks[n], v) ? n : BLOCK_NONE;
}

#endif

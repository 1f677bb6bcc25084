/* SPDX-License-Identifier: MIT */
/*
 * blockindex: see blockindex.h. Built in two passes over the sorted blocks: the first counts the leaves in
 * which a block begins, the second sets their bits. A third pass, over the words, makes the ranks. A leaf in
 * which no block begins, because it lies inside of one block, needs no words of its own: all such leaves
 * share number 0. And all 8 GiB that lie inside of one block share a table that says "search": a program may
 * have reserved terabytes.
 */
#include "heap/reach/blockindex.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/addr_search.h"

static taddr end_of(const struct block *b)
{
	return b->addr + (b->size ? b->size : 1);
}

/* Checks what the header requires of the blocks; counts the leaves in which one begins. */
static int look_over(const struct block *blocks, size_t n, size_t *nleaves)
{
	taddr last = UINT64_MAX;

	*nleaves = 0;
	for (size_t i = 0; i < n; i++) {
		if (end_of(&blocks[i]) < blocks[i].addr || (i && blocks[i].addr <= blocks[i - 1].addr))
			return -EINVAL;
		if (blocks[i].addr >> INDEX_LEAF_SHIFT != last)
			++*nleaves;
		last = blocks[i].addr >> INDEX_LEAF_SHIFT;
	}
	return 0;
}

static struct block_leaf *leaf_of(struct block_index *ix, taddr at)
{
	struct block_leaf **mid = &ix->mids[at >> INDEX_MID_SHIFT];

	if (!*mid) {
		*mid = calloc(INDEX_MID_LEAVES, sizeof(**mid));
		if (!*mid)
			return NULL;
		ix->memory += INDEX_MID_LEAVES * sizeof(**mid);
	}
	return *mid + (at >> INDEX_LEAF_SHIFT) % INDEX_MID_LEAVES;
}

/* Are all 8 GiB at @at inside of a block that ends at @end, and without an entry so far? */
static bool all_of_mid(const struct block_index *ix, taddr at, taddr end)
{
	const uint64_t size = UINT64_C(1) << INDEX_MID_SHIFT;

	return at % size == 0 && end - at >= size && !ix->mids[at >> INDEX_MID_SHIFT];
}

static int make_searched(struct block_index *ix)
{
	if (ix->searched)
		return 0;
	ix->searched = calloc(INDEX_MID_LEAVES, sizeof(*ix->searched));
	if (!ix->searched)
		return -ENOMEM;
	ix->memory += INDEX_MID_LEAVES * sizeof(*ix->searched);
	for (size_t i = 0; i < INDEX_MID_LEAVES; i++)
		ix->searched[i].words = INDEX_SEARCH;
	return 0;
}

/* A block of many leaves: no block begins in those after its first, or none yet. */
static int cover_rest(struct block_index *ix, size_t i)
{
	taddr end = end_of(&ix->blocks[i]), at = (ix->blocks[i].addr | ((1u << INDEX_LEAF_SHIFT) - 1)) + 1;
	struct block_leaf *leaf;

	if (end > UINT64_C(1) << INDEX_TOP_SHIFT)
		end = UINT64_C(1) << INDEX_TOP_SHIFT;
	while (at < end) {
		if (all_of_mid(ix, at, end)) {
			if (make_searched(ix) < 0)
				return -ENOMEM;
			ix->mids[at >> INDEX_MID_SHIFT] = ix->searched;
			at += UINT64_C(1) << INDEX_MID_SHIFT;
			continue;
		}
		leaf = leaf_of(ix, at);
		if (!leaf)
			return -ENOMEM;
		if (leaf->words != INDEX_SEARCH)
			*leaf = (struct block_leaf){ 1, (uint32_t)i + 1 };
		at += 1u << INDEX_LEAF_SHIFT;
	}
	return 0;
}

/* Block @i begins in a leaf. If it is the first one there, the leaf gets the words after the *@used ones. */
static int add_start(struct block_index *ix, size_t i, size_t *used)
{
	const taddr at = ix->blocks[i].addr;
	const uint32_t granule = (at >> INDEX_GRANULE_SHIFT) & 0xffff;
	struct block_leaf *leaf = leaf_of(ix, at);

	if (!leaf)
		return -ENOMEM;
	if (leaf->words <= 1)
		*leaf = (struct block_leaf){ 1 + (uint32_t)++*used, (uint32_t)i };
	if (at & 15 && leaf->words != INDEX_SEARCH)
		leaf->words = INDEX_SEARCH;
	if (leaf->words != INDEX_SEARCH)
		ix->words[(size_t)(leaf->words - 1) * INDEX_LEAF_WORDS + granule / INDEX_WORD_BITS] |=
			UINT64_C(1) << granule % INDEX_WORD_BITS;
	return 0;
}

static void rank_leaf(uint64_t *words)
{
	uint64_t rank = 0;

	for (size_t i = 0; i < INDEX_LEAF_WORDS; i++) {
		const uint32_t here = ones(words[i]);

		words[i] |= rank << INDEX_WORD_BITS;
		rank += here;
	}
}

static int fill(struct block_index *ix, size_t nleaves)
{
	size_t used = 0;
	int err = 0;

	for (size_t i = 0; i < ix->n && !err && !(ix->blocks[i].addr >> INDEX_TOP_SHIFT); i++) {
		err = add_start(ix, i, &used);
		if (!err && (end_of(&ix->blocks[i]) - 1) >> INDEX_LEAF_SHIFT !=
				    ix->blocks[i].addr >> INDEX_LEAF_SHIFT)
			err = cover_rest(ix, i);
	}
	for (size_t l = 1; l <= nleaves && !err; l++)
		rank_leaf(ix->words + l * INDEX_LEAF_WORDS);
	return err;
}

static int allocate(struct block_index *ix, size_t nleaves)
{
	ix->format_size = (nleaves + 1) * INDEX_LEAF_WORDS * sizeof(*ix->words);
	ix->words = mmap(NULL, ix->format_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (ix->words == MAP_FAILED) {
		ix->words = NULL;
		return -ENOMEM;
	}
	/*
	 * each lookup is on another page: with small pages, half of the time was spent in the processor's
	 * page walks
	 */
	madvise(ix->words, ix->format_size, MADV_HUGEPAGE);
	ix->mids = calloc(INDEX_MIDS, sizeof(*ix->mids));
	ix->memory = ix->format_size + INDEX_MIDS * sizeof(*ix->mids);
	return ix->mids ? 0 : -ENOMEM;
}

int block_index_init(struct block_index *ix, const struct block *blocks, size_t n)
{
	size_t nleaves;
	int err;

	memset(ix, 0, sizeof(*ix));
	if (n > BLOCKS_MAX)
		return -E2BIG;
	err = look_over(blocks, n, &nleaves);
	if (err)
		return err;
	ix->blocks = blocks;
	ix->n = n;
	if (n) {
		ix->lo = blocks[0].addr;
		for (size_t i = 0; i < n; i++)
			if (end_of(&blocks[i]) - ix->lo > ix->span)
				ix->span = end_of(&blocks[i]) - ix->lo;
	}
	err = allocate(ix, nleaves);
	if (!err)
		err = fill(ix, nleaves);
	if (err)
		block_index_fini(ix);
	return err;
}

void block_index_fini(struct block_index *ix)
{
	if (ix->mids)
		for (size_t i = 0; i < INDEX_MIDS; i++)
			if (ix->mids[i] != ix->searched)
				free(ix->mids[i]);
	free(ix->mids);
	free(ix->searched);
	if (ix->words)
		munmap(ix->words, ix->format_size);
	memset(ix, 0, sizeof(*ix));
}

uint32_t block_index_search(const struct block_index *ix, taddr v)
{
	const size_t n = ADDR_SEARCH(ix->blocks, ix->n, addr, v);

	return n ? (uint32_t)(n - 1) : BLOCK_NONE;
}

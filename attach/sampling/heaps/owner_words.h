/* SPDX-License-Identifier: MIT */
/*
 * owner_words: a block's first words, of allocators whose free does not overwrite both. A word that is what
 * the hit has read when the block was given out was not written by its owner, and does not show that it is
 * the same block (chunkstate.link, .blank).
 */
#ifndef MM_OWNER_WORDS_H
#define MM_OWNER_WORDS_H

#include "attach/sampling/blocks/block_heap.h"

#define OWNER_WORDS 2u

/* How many words of a block of @bytes are read. */
static inline uint32_t owner_words_of(uint64_t bytes)
{
	return bytes < 8 * OWNER_WORDS ? 1 : OWNER_WORDS;
}

/* What was there before: none of it was written by the block's owner. */
void owner_words_born(const struct block_hit *hit, uint64_t bytes, struct chunkstate *out);

/*
 * Read the words of the block at @at once more, while all threads run: are they still @words? Of a block that was
 * in a list of free blocks a moment ago, and may have been given out since.
 */
bool owner_words_still(pid_t pid, taddr at, const uint64_t words[OWNER_WORDS], uint32_t n);

/* @n words were read at a look at @l, 0: none; they become l->now. */
void owner_words_look(struct block_look *l, const uint64_t words[OWNER_WORDS], uint32_t n);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * chunkstate: what the bytes around a block of glibc's say of it, looked at from outside while everybody runs: is it still the block that was
 * given out there, has it gone, or can that not be told? Pure; who looks, and how often, is the caller's (attach/sampling/blocks/following).
 *
 *	  prev_size | head | word 0 | word 1 | ... word 5 | ...            | next head
 *	                   ^ block                                         (bit 0: this chunk is in use)
 *
 * Certainly gone, each by what only the allocator does:
 *
 *	another size in the head, or what cannot be one			freed and cut, joined, or given out as another
 *	the next chunk's bit is off					free, in a bin
 *	the head says that the chunk before is free, and that one's	free, joined with the one before: the head is what was left behind
 *	size does not lead here (asked twice, for it may be changing)
 *	word 0 has become a link to a chunk of the same size, mixed	in a tcache or fastbin, or was there since the last look
 *	with its own address (safe-linking, 2.32 and later)
 *	word 1 has become the tcache's key				in a tcache
 *
 * In use and of the same size alone says nothing: under churn the place has been given out again long since. So the first words are
 * compared with those of the look before. Free writes over words 0 and 1 (tcache), so whoever got the place after that has written the same again, or it is the
 * same block. Of words 2 and later that does not hold: a block that is given out again may never write there. That they have changed is a
 * sign of another block, or of one that is written to; that they have not is none.
 */
#ifndef MM_CHUNKSTATE_H
#define MM_CHUNKSTATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/taddr.h"

#define CHUNKSTATE_WORDS 6u

/* What was read. A word that could not be (its page is not there) is none of the first `nwords`. */
struct chunkstate_look {
	taddr block;
	uint64_t prev_size, head;
	uint64_t words[CHUNKSTATE_WORDS];
	uint64_t next_head;
	uint8_t nwords;
	bool has_head, has_prev_size, has_next;
};

/* What is kept of a look, to compare the next one with. */
struct chunkstate {
	uint16_t hashes[CHUNKSTATE_WORDS];
	uint8_t nwords;
	bool link;			/* word 0 looks like a link that was left there: nobody has written to it */
	bool blank;			/* and word 1 is 0, as malloc leaves it that takes a block from a tcache */
};

enum chunkstate_use {
	CHUNKSTATE_IN_USE,		/* or in a tcache or fastbin */
	CHUNKSTATE_FREE,
	CHUNKSTATE_RESIZED,
	CHUNKSTATE_UNSEEN,		/* too little could be read */
};

/* The size in a head without its flags; 0: it cannot be a chunk's. */
uint64_t chunkstate_size(uint64_t head);

/* Whether the chunk has a mapping of its own. */
bool chunkstate_mapped(uint64_t head);

/* @head: as it was when the block was given out. */
enum chunkstate_use chunkstate_use(const struct chunkstate_look *l, uint64_t head);

/*
 * The chunk before is free, or was when this one was given up: where its head is, for chunkstate_led(). 0: nothing to ask.
 */
taddr chunkstate_before(const struct chunkstate_look *l);

/* Does the chunk before, whose head is @before, lead to this one? */
bool chunkstate_led(const struct chunkstate_look *l, uint64_t before);

/* Word 0 as a link mixed with its address: false if it cannot be one. *@to: the block it leads to, 0: the end of a list. */
bool chunkstate_link(const struct chunkstate_look *l, taddr *to);

void chunkstate_keep(const struct chunkstate_look *l, struct chunkstate *out);

/* So many words, from the first on, both have. */
unsigned chunkstate_common(const struct chunkstate *a, const struct chunkstate *b);

/* Which of them are not what they were: bit i for word i. */
unsigned chunkstate_changed(const struct chunkstate *before, const struct chunkstate *now);

#endif

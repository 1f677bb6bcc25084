/* SPDX-License-Identifier: MIT */
/*
 * chunkstate: what the bytes around a block of glibc's malloc say about it, read from outside while all
 * threads run: is it still the block that was allocated there, was it freed, or is that unknown? Pure; when
 * and how often to look is up to the caller (attach/sampling/blocks/block_poll).
 *
 *	  prev_size | head | word 0 | word 1 | ... word 5 | ...            | next head
 *	                   ^ block                                         (bit 0: this chunk is in use)
 *
 * Certainly freed, each shown by something that only the allocator does:
 *
 *	another size in the head, or an impossible one		freed and split, merged, or allocated anew
 *	the next chunk's bit is off				free, in a bin
 *	the head says that the chunk before is free, and	free, merged with the one before: the head is
 *	that one's size does not lead here (read twice, for	a leftover
 *	it may be changing)
 *	word 0 has become a link to a chunk of the same		in a tcache or fastbin, or was there since the
 *	size, mixed with its own address (safe-linking,		last look
 *	2.32 and later)
 *	word 1 has become the tcache's key			in a tcache
 *
 * That it is in use and has the same size proves nothing: in a busy program, the address may have been
 * allocated again long ago. So the first words are compared with those of the look before. Free overwrites
 * words 0 and 1 (tcache): if they are the same, it is the same block, or its new owner has written the same
 * again. For words 2 and later that does not hold: the new owner may never write there. If they have changed,
 * it may be another block, or a block that is written to; if they have not, that means nothing.
 */
#ifndef MM_CHUNKSTATE_H
#define MM_CHUNKSTATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/taddr.h"

#define CHUNKSTATE_WORDS 6u

/* What was read. A word that could not be read (its page is not there) is none of the first `nwords`. */
struct chunkstate_look {
	taddr block;
	uint64_t prev_size, head;
	uint64_t words[CHUNKSTATE_WORDS];
	uint64_t next_head;
	uint8_t nwords;
	bool has_head, has_prev_size, has_next;
};

/* What is stored of a look, for comparison with the next one. */
struct chunkstate {
	uint16_t hashes[CHUNKSTATE_WORDS];
	uint8_t nwords;
	bool link;			/* word 0 looks like an old link that was never overwritten */
	bool blank;			/* and word 1 is 0, as malloc leaves it for a block from a tcache */
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

/* @head: its value when the block was allocated. */
enum chunkstate_use chunkstate_use(const struct chunkstate_look *l, uint64_t head);

/*
 * If the chunk before is free, or was when this head was written: where its head is, for chunkstate_led(). 0:
 * nothing to check.
 */
taddr chunkstate_before(const struct chunkstate_look *l);

/* Does the chunk before, whose head is @before, lead to this one? */
bool chunkstate_led(const struct chunkstate_look *l, uint64_t before);

/*
 * Word 0 as a link mixed with its address; false if it cannot be one. *@to: the block it leads to, 0: the end
 * of a list.
 */
bool chunkstate_link(const struct chunkstate_look *l, taddr *to);

void chunkstate_keep(const struct chunkstate_look *l, struct chunkstate *out);

/* How many words, from the first on, both have. */
unsigned chunkstate_common(const struct chunkstate *a, const struct chunkstate *b);

/* Which of them have changed: bit i for word i. */
unsigned chunkstate_changed(const struct chunkstate *before, const struct chunkstate *now);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * tcachekey: the word that glibc (2.34 and later) writes after the link of a block that is in a tcache:
 * random, one for the whole process, and without a symbol in a stripped library. It is learned from what
 * blocks look like. Pure.
 *
 * It is word 1 of most blocks whose word 0 is a link: of blocks of several stacks, never without a link
 * before it, and no address. A value that the program itself writes there (a mark, say) is seen without a
 * link sooner or later; from then on no value is trusted.
 */
#ifndef MM_TCACHEKEY_H
#define MM_TCACHEKEY_H

#include <stdbool.h>
#include <stdint.h>

#include "heap/glibc/chunkstate.h"

struct tcachekey {
	uint64_t value;			/* 0: not known */
	uint64_t candidate;
	uint32_t votes;			/* for the candidate, less those for others */
	uint32_t stack;			/* of the first block that voted for it */
	bool several;			/* blocks of other stacks have, too */
	bool given;			/* set by a caller that knows it: it is not doubted */
	bool never;			/* it was wrong once */
};

/* A look at a block of @stack. @linked: word 0 was found to lead to a chunk of the same size. */
void tcachekey_see(struct tcachekey *k, const struct chunkstate_look *l, bool linked, uint32_t stack);

/* Does the block have the key in word 1? */
bool tcachekey_is(const struct tcachekey *k, const struct chunkstate_look *l);

#endif

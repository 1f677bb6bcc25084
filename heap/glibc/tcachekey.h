/* SPDX-License-Identifier: MIT */
/*
 * tcachekey: the word that glibc (2.34 and later) writes behind the link of a block that is in a tcache: random, one for the whole process, and of no
 * symbol that a stripped library has. Learned from what blocks look like. Pure.
 *
 * It is what stands in word 1 of most blocks whose word 0 is a link: of several stacks' blocks, never without a link before it, and no
 * address. What a program itself writes there (a mark, say) is seen without a link sooner or later, and then nothing is believed any more.
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
	uint32_t stack;			/* of the first who voted for it */
	bool several;			/* others have, too */
	bool given;			/* by somebody who knows: it is not doubted */
	bool never;			/* it was wrong once */
};

/* A look at a block of @stack. @linked: word 0 was found to lead to a chunk of the same size. */
void tcachekey_see(struct tcachekey *k, const struct chunkstate_look *l, bool linked, uint32_t stack);

/* The block has the key where it would be. */
bool tcachekey_is(const struct tcachekey *k, const struct chunkstate_look *l);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * block_identity: which of a block's first two words tell the blocks of a stack apart, and so what it means
 * if a word has not changed. Pure.
 *
 * Words are compared between successive blocks of a stack, and between a block and the one that had its
 * address before, if that was tracked, too: to take one for the other is the very mistake to be avoided, and
 * these two are often more alike than others (an object and its buffer are freed and allocated together, and
 * then point at each other as before).
 */
#ifndef MM_BLOCK_IDENTITY_H
#define MM_BLOCK_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/addrmap.h"
#include "base/cleanup.h"
#include "heap/glibc/chunkstate.h"

/* of further stacks nothing is learned, and their blocks count as alike */
#define IDENTITY_STACKS 50000u

struct block_identity {
	struct addrmap stacks;		/* stack -> its words */
};

enum block_identity_same {
	IDENTITY_SAME,			/* a word that tells blocks apart has not changed */
	IDENTITY_ALIKE,		/* a word has not changed, but others look the same */
	IDENTITY_DIFFERENT,		/* another block, or written to */
};

void block_identity_init(struct block_identity *a);
void block_identity_fini(struct block_identity *a);

/*
 * A block of @stack looks like @now at its first look. @was: the block that had this address before, of the
 * same stack; NULL: not known.
 */
void block_identity_learn(struct block_identity *a, uint32_t stack, const struct chunkstate *now,
			  const struct chunkstate *was);

/* Compares two looks at what may be one block. */
enum block_identity_same block_identity_compare(const struct block_identity *a, uint32_t stack,
						const struct chunkstate *before,
						const struct chunkstate *now);

#endif

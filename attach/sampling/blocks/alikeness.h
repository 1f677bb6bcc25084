/* SPDX-License-Identifier: MIT */
/*
 * alikeness: which of a block's first two words tell the blocks of a stack apart, and so what it means if a
 * word has not changed. Pure.
 *
 * Words are compared between successive blocks of a stack, and between a block and the one that had its
 * address before, if that was tracked, too: to take one for the other is just the mistake to be avoided, and
 * these two are often more alike (an object and its buffer are freed and allocated together, and then point
 * at each other as before).
 */
#ifndef MM_ALIKENESS_H
#define MM_ALIKENESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/addrmap.h"
#include "base/cleanup.h"
#include "heap/glibc/chunkstate.h"

/* of further stacks nothing is learned, and their blocks count as alike */
#define ALIKENESS_STACKS 50000u

struct alikeness {
	struct addrmap stacks;		/* stack -> its words */
};

enum alikeness_same {
	ALIKENESS_SAME,			/* a word that tells blocks apart has not changed */
	ALIKENESS_ALIKE,		/* a word has not changed, but others look the same */
	ALIKENESS_DIFFERENT,		/* another block, or written to */
};

void alikeness_init(struct alikeness *a);
void alikeness_fini(struct alikeness *a);

/*
 * A block of @stack looks like @now at its first look. @was: the block that had this address before, of the
 * same stack; NULL: not known.
 */
void alikeness_learn(struct alikeness *a, uint32_t stack, const struct chunkstate *now, const struct chunkstate *was);

/* Compares two looks at what may be one block. */
enum alikeness_same alikeness_judge(const struct alikeness *a, uint32_t stack, const struct chunkstate *before, const struct chunkstate *now);

#endif

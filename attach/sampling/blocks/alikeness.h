/* SPDX-License-Identifier: MIT */
/*
 * alikeness: which of the first two words tell a stack's blocks apart, and so what it says that they have not changed. Pure.
 *
 * Words are compared between blocks of a stack that follow each other, and between a block and the one that had its place before, if that was
 * followed too: the latter is just the mistake that is to be avoided, and often more alike (an object and its buffer are given back
 * and out together, and then point at each other as before).
 */
#ifndef MM_ALIKENESS_H
#define MM_ALIKENESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/addrmap.h"
#include "base/cleanup.h"
#include "heap/glibc/chunkstate.h"

#define ALIKENESS_STACKS 50000u		/* of more, nothing is learned, and their blocks count as alike */

struct alikeness {
	struct addrmap stacks;		/* stack -> its words */
};

enum alikeness_same {
	ALIKENESS_SAME,			/* a word that tells blocks apart is what it was */
	ALIKENESS_ALIKE,		/* one of both has not changed, but others look the same */
	ALIKENESS_DIFFERENT,		/* another block, or written to */
};

void alikeness_init(struct alikeness *a);
void alikeness_fini(struct alikeness *a);

/* A block of @stack looks like @now at its first look. @was: who had this place before, of the same stack; NULL: not known. */
void alikeness_learn(struct alikeness *a, uint32_t stack, const struct chunkstate *now, const struct chunkstate *was);

/* Two looks at what may be one block. */
enum alikeness_same alikeness_judge(const struct alikeness *a, uint32_t stack, const struct chunkstate *before, const struct chunkstate *now);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * following_judge: what one look says of a block that is followed, in view of those before it.
 *
 *	gone		what only the allocator does
 *	doubtful	both first words have changed: another block, or written to; it is looked at some times more, whether it is seen to go
 *	the same	else
 */
#ifndef MM_FOLLOWING_JUDGE_H
#define MM_FOLLOWING_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/sampling/blocks/alikeness.h"
#include "attach/sampling/blocks/following.h"
#include "attach/sampling/blocks/following_look.h"
#include "heap/glibc/tcachekey.h"

enum followed_flags {
	FOLLOWED_MAPPED = 1 << 0,
	FOLLOWED_LOOKED = 1 << 1,	/* its state is that of a look; else of its birth, if anything */
	FOLLOWED_HEIR = 1 << 2,		/* the one before it at this place was of the same stack: `was` */
	FOLLOWED_ALIKE = 1 << 3,
	FOLLOWED_JOINED = 1 << 4,	/* it has looked so since `joined_ms` */
	FOLLOWED_DOUBTFUL = 1 << 5,	/* it may be another one, since `doubt_ms` */
};

struct followed_block {
	taddr addr;
	uint64_t birth_ns;
	uint32_t seen_ms;		/* age at which it was last known to be there */
	uint32_t doubt_ms, joined_ms;
	uint32_t next;			/* number of its next look */
	uint32_t units;			/* of 16 bytes, its size */
	uint32_t stack;
	uint32_t place;			/* in the queue */
	uint16_t looks;
	uint16_t was[2];
	struct chunkstate state;
	uint8_t doubts;			/* looks since it is doubtful */
	uint8_t flags;
};

struct following_judge {
	struct alikeness alikeness;
	struct tcachekey key;
	struct following_sums *sums;
};

/* @k: a look at @b, just taken. FATE_SAME also if it says nothing; the block is changed to be compared with next time. */
enum fate following_judge(struct following_judge *j, struct followed_block *b, const struct following_looked *k, uint64_t now_ns);

#endif

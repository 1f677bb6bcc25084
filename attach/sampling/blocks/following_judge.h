/* SPDX-License-Identifier: MIT */
/*
 * following_judge: what one look shows of a tracked block, in view of those before it.
 *
 *	gone		a change that only the allocator makes
 *	doubtful	both first words changed: another block, or written to; some more looks are taken, to
 *			see whether it is freed
 *	the same	otherwise
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
	FOLLOWED_LOOKED = 1 << 1,	/* `state` is that of a look; else of its birth, if known */
	/* the block before it at this address was of the same stack: `was` */
	FOLLOWED_HEIR = 1 << 2,
	FOLLOWED_ALIKE = 1 << 3,
	FOLLOWED_JOINED = 1 << 4,	/* it has looked joined since `joined_ms` */
	FOLLOWED_DOUBTFUL = 1 << 5,	/* it may be another block, since `doubt_ms` */
};

struct followed_block {
	taddr addr;
	uint64_t birth_ns;
	uint32_t seen_ms;		/* age at which it was last known to be live */
	uint32_t doubt_ms, joined_ms;
	uint32_t next;			/* number of its next look */
	uint32_t units;			/* its size, in units of 16 bytes */
	uint32_t stack;
	uint32_t place;			/* index in the queue */
	uint16_t looks;
	uint16_t was[2];
	struct chunkstate state;
	uint8_t doubts;			/* looks since it became doubtful */
	uint8_t flags;
};

struct following_judge {
	struct alikeness alikeness;
	struct tcachekey key;
	struct following_sums *sums;
};

/* @k: a look at @b, just taken. FATE_SAME also if it shows nothing; updates @b for the next comparison. */
enum fate following_judge(struct following_judge *j, struct followed_block *b, const struct following_looked *k, uint64_t now_ns);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * loss: what a process loses between two copies of its memory. What is lost is never freed, so a block that is lost
 * in the later copy, and not in the earlier one, was lost in between: its code need not have been seen. A block
 * is the same if it has the same address and size.
 *
 * A process may have pointers where a copy does not show them: in the kernel (epoll), masked, in the low bits of
 * other values; or what is garbage is collected later. Then blocks that were lost in the earlier copy are not in the
 * later one: `back`. Of a size of which more than a few are, nothing is known, and its blocks do not count as
 * lost: `doubtful`.
 *
 *	loss_add	a lost block of one copy, in any order
 *	loss_between	what is only in the later one: how many, how much, and of which sizes
 */
#ifndef MM_LOSS_H
#define MM_LOSS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "heap/block.h"

#define LOSS_SIZES 8		/* those with most bytes */
#define LOSS_SIZES_LISTED 4	/* of these, in a text */

struct loss {
	struct block *lost;
	size_t n, room;
};

struct loss_size {
	uint64_t size, blocks;
};

struct loss_sum {
	uint64_t blocks, bytes;			/* lost in between */
	uint64_t before_blocks, before_bytes;	/* and before: in the earlier copy; */
	uint64_t back;				/* of these: freed since, or something points to them again */
	uint64_t doubtful;			/* blocks that seem lost, of sizes of which too many came back */
	bool unknown;				/* we were out of memory */
	struct loss_size sizes[LOSS_SIZES];	/* the first of these have blocks */
};

/* 0 or -ENOMEM. */
must_check int loss_add(struct loss *l, taddr addr, uint64_t size);

/* 0 or -ENOMEM. */
must_check int loss_copy(const struct loss *from, struct loss *to);

/* Sorts both, and leaves only what is new in @later, and not doubtful, by size. */
void loss_between(struct loss *earlier, struct loss *later, struct loss_sum *out);

/*
 * Do blocks come back, so that what is found lost is not lost for good in this process? Also if all that is new is
 * doubtful, or was not compared, as we were out of memory.
 */
bool loss_is_doubtful(const struct loss_sum *sum);

void loss_fini(struct loss *l);

#endif

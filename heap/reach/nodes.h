/* SPDX-License-Identifier: MIT */
/*
 * nodes: the blocks that a flood goes through: the given ones, and those that the census has besides.
 *
 * Usually they are the census's, and nothing is copied. Where others are given (watched ones), the rest of the census takes part:
 * a chain leads through blocks that nobody has asked about. A given block inside of one of the allocator's (a pool's) takes its
 * place, as with valgrind; what is around it is a root, for who knows whose it is.
 */
#ifndef MM_NODES_H
#define MM_NODES_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "heap/reach/reach.h"

struct nodes {
	const struct block *blocks;	/* sorted */
	size_t n;
	struct block *merged;		/* NULL: blocks are the given ones */
	uint32_t *given;		/* with merged: which of the given one it is; BLOCK_NONE: the census's */
	struct snapshot_range *holders;	/* of the census, with given ones inside; sorted */
	size_t nholders;
};

/* 0; -EINVAL: the given ones are not sorted; -E2BIG; -ENOMEM. */
must_check int nodes_init(struct nodes *nd, const struct reach_input *in);
void nodes_fini(struct nodes *nd);

#endif

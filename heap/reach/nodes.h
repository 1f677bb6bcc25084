/* SPDX-License-Identifier: MIT */
/*
 * nodes: the blocks of a flood: the given ones, and those that the census has in addition.
 *
 * Usually the given blocks are the census's, and nothing is copied. If others are given (watched ones), the
 * rest of the census takes part: a chain may lead through blocks that were not given. A given block inside of
 * one of the allocator's (a pool's) takes its place, as in valgrind; the rest of the allocator's block is a
 * root, because its content is unknown.
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
	struct block *merged;		/* NULL: `blocks` are the given ones */
	uint32_t *given;		/* if merged: index of the given one; BLOCK_NONE: the census's */
	struct snapshot_range *holders;	/* blocks of the census with given ones inside; sorted */
	size_t nholders;
};

/* 0; -EINVAL: the given ones are not sorted; -E2BIG; -ENOMEM. */
must_check int nodes_init(struct nodes *nd, const struct reach_input *in);
void nodes_fini(struct nodes *nd);

#endif

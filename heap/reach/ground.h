/* SPDX-License-Identifier: MIT */
/*
 * ground: the data for both the flood and the search for pointers to an address: blocks, the index that finds
 * the block of an address, thread stacks, roots.
 */
#ifndef MM_GROUND_H
#define MM_GROUND_H

#include "base/cleanup.h"
#include "heap/reach/blockindex.h"
#include "heap/reach/nodes.h"
#include "heap/reach/roots.h"
#include "heap/reach/threadstacks.h"

/* The members point into each other: it must not be moved. */
struct ground {
	struct nodes nodes;
	struct block_index ix;		/* of the nodes */
	struct threadstacks stacks;
	struct roots roots;
};

/* 0 or -errno as reach_run; ground_fini in any case. @in must outlive @g. */
must_check int ground_init(struct ground *g, const struct reach_input *in);
void ground_fini(struct ground *g);

#endif

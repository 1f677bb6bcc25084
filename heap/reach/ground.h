/* SPDX-License-Identifier: MIT */
/* ground: what both the flood and the question who points at an address stand on: blocks, which one an address is in, whose stack is where, roots. */
#ifndef MM_GROUND_H
#define MM_GROUND_H

#include "base/cleanup.h"
#include "heap/reach/blockindex.h"
#include "heap/reach/nodes.h"
#include "heap/reach/roots.h"
#include "heap/reach/threadstacks.h"

/* They point into each other: it stays where it is. */
struct ground {
	struct nodes nodes;
	struct block_index ix;		/* of the nodes */
	struct threadstacks stacks;
	struct roots roots;
};

/* 0 or -errno as reach_run; ground_fini in any case. @in outlives it. */
must_check int ground_init(struct ground *g, const struct reach_input *in);
void ground_fini(struct ground *g);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * reach_graph: the data for both the flood and the search for pointers to an address: blocks, the index that
 * finds the block of an address, thread stacks, roots.
 */
#ifndef MM_REACH_GRAPH_H
#define MM_REACH_GRAPH_H

#include "base/cleanup.h"
#include "heap/reach/blockindex.h"
#include "heap/reach/nodes.h"
#include "heap/reach/roots.h"
#include "heap/threadstacks.h"

/* The members point into each other: it must not be moved. */
struct reach_graph {
	struct nodes nodes;
	struct block_index ix;		/* of the nodes */
	struct threadstacks stacks;
	struct roots roots;
};

/* 0 or -errno as reach_run; reach_graph_fini in any case. @in must outlive @g. */
must_check int reach_graph_init(struct reach_graph *g, const struct reach_input *in);
void reach_graph_fini(struct reach_graph *g);

#endif

/* SPDX-License-Identifier: MIT */
#include "heap/reach/reach_graph.h"

#include <string.h>

int reach_graph_init(struct reach_graph *g, const struct reach_input *in)
{
	int err;

	memset(g, 0, sizeof(*g));
	err = nodes_init(&g->nodes, in);
	if (!err)
		err = block_index_init(&g->ix, g->nodes.blocks, g->nodes.n);
	if (!err)
		err = threadstacks_find(&g->stacks, in->snapshot);
	if (!err)
		err = roots_init(&g->roots, in, &g->nodes, &g->stacks);
	return err;
}

void reach_graph_fini(struct reach_graph *g)
{
	roots_fini(&g->roots);
	threadstacks_fini(&g->stacks);
	block_index_fini(&g->ix);
	nodes_fini(&g->nodes);
}

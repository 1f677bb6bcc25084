/* SPDX-License-Identifier: MIT */
#include "heap/jemalloc/jemalloc_census.h"

#include <stdio.h>
#include <stdlib.h>

#include "heap/jemalloc/jemalloc.h"

static int take(struct jemalloc *j)
{
	int err = jemalloc_list_extents(j);

	j->c->known = true;
	/* large blocks are in its arenas, too */
	j->c->mmapped_claimed = 0;
	snprintf(j->c->layout, sizeof(j->c->layout), "jemalloc %s", j->version->name);
	if (j->huge)
		jemalloc_problem(j, j->root,
				 "the huge page allocator (opt.hpa) is on: what it keeps free looks like blocks");
	if (!err)
		err = jemalloc_list_cached(j);
	if (!err)
		err = jemalloc_take_blocks(j);
	if (!err)
		jemalloc_compare_figures(j);
	return err;
}

static void fini(struct jemalloc *j)
{
	free(j->extents);
	free(j->bases);
	free(j->cached);
	free(j->caches);
	free(j->regions);
}

int jemalloc_census(const struct snapshot *s, struct census *c)
{
	struct jemalloc j = { .s = s, .c = c, .cursor = snapshot_cursor_of(s) };
	int err = jemalloc_find(&j);

	if (err == 0)
		err = take(&j);
	fini(&j);
	return err;
}

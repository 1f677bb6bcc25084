/* SPDX-License-Identifier: MIT */
#include "heap/glibc/glibc_census.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "heap/census_blocks.h"
#include "heap/glibc/glibc.h"

/* Versions with the same form of tcaches are distinguished by their links, if something was freed. */
static const char *by_links(const struct glibc_layout *l)
{
	if (!l->links_seen)
		return "2.30 to 2.41";
	return l->mangled ? "2.32 to 2.41" : "2.30 or 2.31";
}

/* The versions, by what they differ in. */
static void name_layout(const struct glibc *g)
{
	const char *versions = "2.43 or later";

	if (g->layout.bins == 0x68)
		versions = "2.26 or before";
	else if (g->layout.fastbins && g->layout.tcache)
		versions = g->layout.tcache->slots		? "2.42"
			   : g->layout.tcache->count_bytes == 1 ? "2.27 to 2.29"
								: by_links(&g->layout);
	else if (g->layout.fastbins)
		versions = "2.27 to 2.42";
	snprintf(g->c->layout, sizeof(g->c->layout), "glibc %s", versions);
}

static int make_arenas(struct glibc *g)
{
	struct census *c = g->c;

	c->known = true;
	c->mmapped_claimed = g->param.at ? g->param.mmapped_mem : UINT64_MAX;
	c->mmapped_chunks_claimed = (uint64_t)g->param.n_mmaps;
	c->arenas = calloc(g->narenas, sizeof(*c->arenas));
	if (!c->arenas)
		return -ENOMEM;
	c->narenas = g->narenas;
	for (size_t i = 0; i < g->narenas; i++) {
		c->arenas[i].at = g->arenas[i].at;
		c->arenas[i].state_bytes = g->layout.bins + GLIBC_STATE_END;
		c->arenas[i].head_bytes = GLIBC_HEAD;
		c->arenas[i].system_bytes = g->arenas[i].system_mem;
	}
	return 0;
}

static int take(struct glibc *g)
{
	int err = make_arenas(g);

	if (!err)
		err = glibc_find_regions(g);
	if (!err)
		err = glibc_find_mapped(g);
	if (!err)
		err = glibc_mark_cached(g);
	if (!err)
		err = glibc_walk(g);
	if (!err)
		err = glibc_find_late(g);
	if (!err)
		census_blocks_trim(g->c);
	if (g->c->nown)
		qsort(g->c->own, g->c->nown, sizeof(*g->c->own), block_order);
	name_layout(g);
	return err;
}

/* The main arena counts memory of a foreign sbrk, too, but not once sbrk has failed. */
static bool arena_adds_up(const struct census *c, size_t i)
{
	const struct census_arena *a = &c->arenas[i];

	return a->walked_bytes <= a->system_bytes &&
	       a->system_bytes <= a->walked_bytes + (i ? 0 : c->foreign_bytes);
}

static void compare_figures(struct census *c)
{
	for (size_t i = 0; i < c->narenas; i++)
		census_differs(c, !arena_adds_up(c, i), c->arenas[i].at, "an arena counts other bytes than it has");
	census_differs(c, !census_mapped_add_up(c), 0, "malloc counts other mapped chunks than there are");
}

int glibc_census(const struct snapshot *s, struct census *c)
{
	struct glibc g = { .s = s, .c = c, .cursor = snapshot_cursor_of(s) };
	int err = glibc_find(&g);

	if (err == 0)
		err = take(&g);
	if (err == 0)
		compare_figures(c);
	glibc_fini(&g);
	return err;
}

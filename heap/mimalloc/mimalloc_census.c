/* SPDX-License-Identifier: MIT */
/* mimalloc_census: see mimalloc.h: what is found becomes a census. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "heap/census_blocks.h"
#include "heap/census_order.h"
#include "heap/mimalloc/mimalloc.h"

/* To the end of the part of struct mi_heap_s that the census reads: its pages and lists. */
#define STATE_BYTES 2880u

static int make_arena(struct mimalloc *g)
{
	struct census *c = g->c;

	c->arenas = calloc(1, sizeof(*c->arenas));
	if (!c->arenas)
		return -ENOMEM;
	c->narenas = 1;
	c->arenas->at = g->heap;
	c->arenas->state_bytes = STATE_BYTES;
	c->known = true;
	c->between = g->at_work;
	snprintf(c->layout, sizeof(c->layout), "mimalloc 2.0.9 to 2.1.2");
	return 0;
}

static int take_inner(struct mimalloc *g, const struct mimalloc_page *p)
{
	struct census *c = g->c;
	struct census_area *area = grow_by_one(&c->inner, c->ninner, sizeof(*area));

	if (!area)
		return -ENOMEM;
	*area = (struct census_area){ p->start, p->start + p->capacity * p->block, 0 };
	c->ninner++;
	return 0;
}

static int take_page(struct mimalloc *g, const struct mimalloc_page *p)
{
	struct census_arena *a = g->c->arenas;

	if (p->aligned && take_inner(g, p) < 0)
		return -ENOMEM;

	for (uint64_t i = 0; i < p->capacity; i++) {
		struct census_sum *sum = mimalloc_is_free(g, p, i) ? &a->bins : &a->used;

		sum->blocks++;
		sum->bytes += p->block;
		if (sum == &a->used && !census_blocks_add(g->c, p->start + i * p->block, p->block))
			return -ENOMEM;
	}
	a->top_bytes += (p->reserved - p->capacity) * p->block;
	return 0;
}

static int take_pages(struct mimalloc *g)
{
	int r = census_blocks_reserve(g->c, g->nbits + 1) ? 0 : -ENOMEM;
	taddr overlap;

	for (size_t i = 0; i < g->npages && r == 0; i++)
		r = take_page(g, &g->pages[i]);
	if (r < 0)
		return r;
	overlap = census_order(g->c);
	if (overlap)
		census_doubt(g->c, g->at_work, overlap, "corrupt: a block lies inside of another one");
	census_count_rest(g->c->arenas);
	census_blocks_trim(g->c);
	return 0;
}

static int take(struct mimalloc *g)
{
	int r = make_arena(g);

	if (r == 0)
		r = mimalloc_read_pages(g);
	if (r == 0)
		r = mimalloc_mark(g);
	if (r == 0)
		mimalloc_look_for_taken(g);
	return r == 0 ? take_pages(g) : r;
}

int mimalloc_census(const struct snapshot *s, struct census *c)
{
	struct mimalloc g = { .s = s, .c = c, .cursor = snapshot_cursor_of(s) };
	int r = mimalloc_find(&g);

	if (r == 0) {
		g.at_work = mimalloc_threads_inside(&g);
		r = take(&g);
	}
	free(g.segments);
	free(g.pages);
	free(g.bits);
	return r;
}

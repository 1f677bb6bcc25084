/* SPDX-License-Identifier: MIT */
/*
 * mimalloc_lists: a free block's first word leads to the next one. A page has three lists: blocks that malloc
 * takes; that its own thread has freed since; that other threads have freed. The first block of a full page
 * that another thread frees goes to a list of the page's heap instead, whose blocks are of any page.
 */
#include <errno.h>
#include <stdlib.h>

#include "heap/mimalloc/mimalloc.h"

/*
 * A list of page @p, or of any pages (NULL). Each block is marked once: the lists are finite.
 */
static void follow(struct mimalloc *g, struct mimalloc_page *p, taddr at, bool foreign)
{
	taddr from = p ? p->at : at;

	while (at) {
		uint64_t i;
		struct mimalloc_page *in = mimalloc_page_of(g, at, &i);

		if (!in || (p && in != p)) {
			census_doubt(g->c, g->at_work, from,
				     "corrupt: a list of free blocks leads from here to what is none of "
				     "its page (" PRItaddr ")",
				     at);
			return;
		}
		if (!mimalloc_mark_free(g, in, i)) {
			census_doubt(g->c, g->at_work, at,
				     "corrupt: a block that is in two free lists, or twice in one");
			return;
		}
		in->foreign += foreign;
		in->mine += !foreign;
		in->delayed += !p;
		from = at;
		if (!mimalloc_word(g, at, &at)) {
			census_doubt(g->c, g->at_work, from, "mimalloc's memory is not in the snapshot here");
			return;
		}
	}
}

static int order(const void *pa, const void *pb)
{
	const taddr a = *(const taddr *)pa, b = *(const taddr *)pb;

	return (a > b) - (a < b);
}

/* The lists of the heaps that own pages. */
static int follow_delayed(struct mimalloc *g)
{
	taddr *heaps = calloc(g->npages + 1, sizeof(*heaps)), at;

	if (!heaps)
		return -ENOMEM;
	for (size_t i = 0; i < g->npages; i++)
		heaps[i] = g->pages[i].heap;
	qsort(heaps, g->npages, sizeof(*heaps), order);
	for (size_t i = 0; i < g->npages; i++) {
		if (!heaps[i] || (i && heaps[i] == heaps[i - 1]))
			continue;
		if (mimalloc_word(g, heaps[i] + MIMALLOC_DELAYED_IN_HEAP, &at))
			follow(g, NULL, at, true);
		else
			census_doubt(g->c, g->at_work, heaps[i], "corrupt: a page's heap is none");
	}
	free(heaps);
	return 0;
}

/* Its own count of blocks in use must be what its own lists leave. */
static void check(struct mimalloc *g, const struct mimalloc_page *p)
{
	const uint32_t in_use = p->capacity > p->mine ? p->capacity - p->mine : 0;
	const uint32_t off = in_use > p->used ? in_use - p->used : p->used - in_use;

	if (off > (g->at_work ? 1 : 0))
		census_doubt(g->c, g->at_work, p->at,
			     "corrupt: a page counts %u blocks in use, and its lists leave %u",
			     p->used, in_use);
	if (p->foreign > p->used)
		census_doubt(g->c, g->at_work, p->at,
			     "corrupt: other threads have freed more blocks of a page than it has");
}

int mimalloc_mark(struct mimalloc *g)
{
	int r;

	g->bits = calloc(g->nbits / 64 + 1, sizeof(*g->bits));
	if (!g->bits)
		return -ENOMEM;
	for (size_t i = 0; i < g->npages; i++) {
		struct mimalloc_page *p = &g->pages[i];

		follow(g, p, p->free, false);
		/* the same list for an instant, when malloc takes over what was freed */
		if (p->local != p->free || !g->at_work)
			follow(g, p, p->local, false);
		follow(g, p, p->thread, true);
	}
	r = follow_delayed(g);
	for (size_t i = 0; i < g->npages; i++)
		check(g, &g->pages[i]);
	return r;
}

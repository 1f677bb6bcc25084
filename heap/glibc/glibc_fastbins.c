/* SPDX-License-Identifier: MIT */
/* Fastbins, which glibc has up to 2.42: single links from the arena on, of chunks of one size each. They may have millions. */
#include "heap/glibc/glibc.h"

/* Where a list is followed: all of an arena's at the same time, a chunk of each in turn, for each next one is elsewhere in memory. */
struct cursor {
	taddr chunk, link_at;	/* chunk 0: at its end */
	unsigned bin;
};

/* Mark the chunk, and go on to the next one. */
static void step(struct glibc *g, size_t a, struct cursor *c)
{
	const taddr chunk = c->chunk;
	struct glibc_region *r;
	const uint64_t size = glibc_chunk_size(g, chunk, &r);
	uint64_t link;

	c->chunk = 0;
	if (!size || size / GLIBC_ALIGN - 2 != c->bin || r->arena != a) {
		glibc_problem(g, c->link_at, "corrupt: a fastbin leads from here to what is no chunk of its size (" PRItaddr ", list %u)", chunk, c->bin);
		return;
	}
	if (!glibc_mark(g, r, chunk, size, &g->c->arenas[a].fast)) {
		if (!g->no_memory)
			glibc_problem(g, chunk, "corrupt: a chunk that is in two free lists, or twice in one (fastbin %u of the arena at " PRItaddr ")", c->bin, g->arenas[a].at);
		return;
	}
	c->link_at = chunk + 16;
	if (!view_word(&g->view, c->link_at, &link))
		return;
	c->chunk = glibc_unmangle(g, c->link_at, link);
	view_prefetch(&g->view, c->chunk + 8);
}

void glibc_mark_fastbins(struct glibc *g, size_t a)
{
	struct cursor all[GLIBC_FASTBINS];
	unsigned n = 0;

	for (unsigned i = 0; i < GLIBC_FASTBINS; i++) {
		const taddr link_at = g->arenas[a].at + g->layout.fastbins + 8 * i;
		uint64_t head;

		if (view_word(&g->view, link_at, &head) && head)
			all[n++] = (struct cursor){ head, link_at, i };
	}
	while (n) {
		for (unsigned i = 0; i < n; i++) {
			step(g, a, &all[i]);
			if (!all[i].chunk)
				all[i--] = all[--n];
		}
	}
}

void glibc_learn_from_fastbins(struct glibc *g, int *plain)
{
	for (size_t a = 0; a < g->narenas; a++) {
		for (unsigned i = 0; i < GLIBC_FASTBINS; i++) {
			uint64_t head;

			if (view_word(&g->view, g->arenas[a].at + g->layout.fastbins + 8 * i, &head) && head)
				glibc_learn_mangling(g, head + 16, 0, plain);
		}
	}
}

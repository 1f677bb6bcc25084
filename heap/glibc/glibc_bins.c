/* SPDX-License-Identifier: MIT */
/*
 * The lists of free chunks: a ring for each bin, in both directions. They are followed only if the walk has
 * found that something is wrong: each chunk costs a jump to another place in memory.
 */
#include "heap/glibc/glibc.h"

#define LINKS_IN_BETWEEN 4u	/* that one thread at work may have changed in part */

/* Is there a chunk at @at, or is it the bin itself, and does it point back? */
static bool points_back(struct glibc *g, const struct glibc_arena *a, taddr from, taddr at)
{
	uint64_t back;

	if (at >= a->bins - 16 && at < a->bins + 16 * GLIBC_BINS - 16)
		return snapshot_cursor_word(&g->cursor, at + 24, &back) && back == from;
	return !(at % GLIBC_ALIGN) && glibc_region_at(g, at) &&
	       snapshot_cursor_word(&g->cursor, at + 24, &back) && back == from;
}

/* How many of the ring's links are wrong: it stops at the first one, which is returned in @bad. */
static unsigned follow(struct glibc *g, size_t arena, taddr bin, taddr *bad)
{
	const struct glibc_arena *a = &g->arenas[arena];
	taddr at = bin, next;

	for (;;) {
		struct glibc_region *r;

		if (!snapshot_cursor_word(&g->cursor, at + 16, &next) || !points_back(g, a, at, next)) {
			*bad = at;
			return 1;
		}
		if (next == bin)
			return 0;
		r = glibc_region_at(g, next);
		if (!r || r->arena != arena || !glibc_set_bit(g, &r->edges, r, next)) {
			*bad = next;
			return 1;
		}
		at = next;
	}
}

void glibc_check_bins(struct glibc *g, size_t arena)
{
	const struct glibc_arena *a = &g->arenas[arena];
	unsigned wrong = 0;
	taddr first = 0;

	for (unsigned i = 0; i < GLIBC_BINS && !g->no_memory; i++) {
		taddr bad = 0;
		const unsigned n = follow(g, arena, a->bins + 16 * i - 16, &bad);

		if (n && !wrong)
			first = bad;
		wrong += n;
	}
	if (wrong > (a->busy ? LINKS_IN_BETWEEN : 0))
		glibc_problem(g, first,
			      "corrupt: a link in the lists of free chunks leads astray here (arena "
			      "at " PRItaddr ")",
			      a->at);
}

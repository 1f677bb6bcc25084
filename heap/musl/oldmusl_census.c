/* SPDX-License-Identifier: MIT */
/* oldmusl_census: see oldmusl.h: what is found becomes a census, and the bins are its check. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "heap/atwork.h"
#include "heap/census_blocks.h"
#include "heap/census_order.h"
#include "heap/musl/oldmusl.h"

#define NEXT 16u
/* Chunks that a thread in malloc may have taken out of a bin, or not put in yet. */
#define IN_HAND 3u

static int make_arena(struct oldmusl *g)
{
	struct census *c = g->c;

	c->arenas = calloc(1, sizeof(*c->arenas));
	if (!c->arenas)
		return -ENOMEM;
	c->narenas = 1;
	c->arenas->at = g->at;
	c->arenas->state_bytes = OLDMUSL_STATE;
	c->arenas->head_bytes = OLDMUSL_HEAD;
	c->known = true;
	c->between = g->at_work;
	snprintf(c->layout, sizeof(c->layout), "musl before 1.2.1");
	return 0;
}

/* The chunks of one bin; at most @most. */
static uint64_t count_bin(struct oldmusl *g, taddr sentinel, uint64_t most)
{
	taddr at;
	uint64_t n = 0;

	if (!snapshot_cursor_word(&g->cursor, sentinel + NEXT, &at) || !at)
		return 0;
	while (at != sentinel && n < most) {
		n++;
		if (at % 8 || !snapshot_cursor_word(&g->cursor, at + NEXT, &at)) {
			census_doubt(g->c, g->at_work, at,
				     "corrupt: a list of free chunks leads to memory that is none");
			break;
		}
	}
	return n;
}

/* All free chunks are in the bins. If there are others in these, a region was not found. */
static void compare_bins(struct oldmusl *g)
{
	const uint64_t found = g->free_chunks, most = found + g->at_work * IN_HAND + 1;
	uint64_t n = 0;

	for (unsigned i = 0; i < OLDMUSL_BINS; i++)
		n += count_bin(g, oldmusl_sentinel(g->at, i), most);
	if ((n > found ? n - found : found - n) > g->at_work * IN_HAND)
		census_differs(g->c, 1, g->at, "malloc's lists have other free chunks than its regions");
}

int oldmusl_census(const struct snapshot *s, struct census *c)
{
	struct oldmusl g = { .s = s, .c = c, .cursor = snapshot_cursor_of(s) };
	taddr overlap;
	int r = oldmusl_find(&g);

	if (r < 0)
		return r;
	g.at_work = atwork_in_file(s, g.file, g.data_lo, g.data_hi);
	r = make_arena(&g);
	if (r == 0)
		r = oldmusl_take_all(&g);
	if (r == 0) {
		compare_bins(&g);
		overlap = census_order(c);
		if (overlap)
			census_doubt(c, g.at_work, overlap, "corrupt: a block lies inside of another one");
		census_count_rest(c->arenas);
		census_blocks_trim(c);
	}
	return r;
}

/* SPDX-License-Identifier: MIT */
/*
 * For all code that follows lists of free chunks: is there a chunk, how is its link read, and a bit for each
 * chunk that was found to be free. A chunk that was marked once is not followed twice.
 */
#include "heap/glibc/glibc.h"

#include <stdlib.h>

#include "base/grow.h"

bool glibc_set_bit(struct glibc *g, uint64_t **bits, const struct glibc_region *r, taddr at)
{
	const uint64_t i = (at - r->lo) / GLIBC_ALIGN;

	if (!*bits) {
		*bits = calloc((r->hi - r->lo) / GLIBC_ALIGN / 64 + 1, sizeof(**bits));
		if (!*bits) {
			g->no_memory = true;
			return false;
		}
	}
	if ((*bits)[i / 64] >> i % 64 & 1)
		return false;
	(*bits)[i / 64] |= 1ull << i % 64;
	return true;
}

uint64_t glibc_chunk_size(struct glibc *g, taddr at, struct glibc_region **r)
{
	uint64_t head;

	*r = at % GLIBC_ALIGN ? NULL : glibc_region_at(g, at);
	if (!*r || at < (*r)->first || !snapshot_cursor_word(&g->cursor, at + 8, &head))
		return 0;
	head &= ~(uint64_t)GLIBC_FLAGS;
	return head >= GLIBC_MINSIZE && !(head % GLIBC_ALIGN) && head <= (*r)->hi - at ? head : 0;
}

/* --- links --- */

/* Would @link lead to the end of a list, or to a chunk (@to_chunk bytes before where it points)? */
static bool plausible(struct glibc *g, uint64_t link, unsigned to_chunk)
{
	struct glibc_region *r;

	return !link || (!(link % GLIBC_ALIGN) && glibc_chunk_size(g, link - to_chunk, &r));
}

void glibc_learn_mangling(struct glibc *g, taddr link_at, unsigned to_chunk, int *plain)
{
	uint64_t link;

	if (!snapshot_cursor_word(&g->cursor, link_at, &link))
		return;
	*plain += plausible(g, link, to_chunk);
	*plain -= plausible(g, link ^ link_at >> 12, to_chunk);
}

/* --- marking --- */

/* The chunk was counted as a block of the program: undo that. */
static bool take_back(struct glibc *g, struct census_arena *out, taddr chunk, uint64_t size)
{
	if (grow_for(&g->late, g->nlate, &g->late_room, sizeof(*g->late)) < 0) {
		g->no_memory = true;
		return false;
	}
	g->late[g->nlate++] = chunk + 16;
	out->used.blocks--;
	out->used.bytes -= size;
	return true;
}

bool glibc_mark(struct glibc *g, struct glibc_region *r, taddr chunk, uint64_t size, struct census_sum *sum)
{
	if (!glibc_set_bit(g, &r->cached, r, chunk))
		return false;
	sum->blocks++;
	sum->bytes += size;
	return !g->walked || take_back(g, &g->c->arenas[r->arena], chunk, size);
}

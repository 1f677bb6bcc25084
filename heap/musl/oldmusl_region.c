/* SPDX-License-Identifier: MIT */
/*
 * oldmusl_region: a region, from chunk to chunk. Each chunk begins with the size of the one before it, so each size
 * is there twice. A thread that splits or joins chunks writes one after the other: where they differ, the walk goes
 * on with the size that leads to a chunk, and another snapshot is better.
 */
#include <errno.h>

#include "heap/census_blocks.h"
#include "heap/musl/oldmusl.h"

/* A size, of a chunk at @at that ends before @end. */
static bool is_size(uint64_t size, taddr at, taddr end)
{
	const uint64_t n = oldmusl_bytes(size);

	return n && n % OLDMUSL_UNIT == 0 && n < end - at;
}

/* Is there the end of a region, or a chunk whose size is there twice? */
static bool is_chunk(struct oldmusl *g, taddr at, taddr end)
{
	struct oldmusl_chunk c, next;

	if (!oldmusl_read(g, at, &c))
		return false;
	return c.size == OLDMUSL_USED || (is_size(c.size, at, end) &&
	       oldmusl_read(g, at + oldmusl_bytes(c.size), &next) && next.before == c.size);
}

/*
 * The chunk at @at has no size, as it is just being split off from the one at @before: the next one still has the
 * size of both, or that of this one. 0: there is none.
 */
static taddr next_by_its_size(struct oldmusl *g, taddr before, taddr at, taddr end)
{
	for (taddr next = at + OLDMUSL_UNIT; next < end; next += OLDMUSL_UNIT) {
		uint64_t size;

		if (g->searched++ > g->s->bytes / OLDMUSL_UNIT)
			return 0;
		if (!snapshot_cursor_word(&g->cursor, next, &size))
			return 0;
		size = oldmusl_bytes(size);
		if ((size == next - at || size == next - before) && is_chunk(g, next, end))
			return next;
	}
	return 0;
}

/* The chunk at @at is just being split or joined; what is behind it shows that there is one. */
static bool is_torn_chunk(struct oldmusl *g, taddr at, uint64_t size, taddr end)
{
	const taddr next = at + oldmusl_bytes(size);

	return g->at_work && is_size(size, at, end) &&
	       (is_chunk(g, next, end) || next_by_its_size(g, at, next, end));
}

bool oldmusl_is_region(struct oldmusl *g, taddr first, taddr end, bool whole)
{
	struct oldmusl_chunk c;
	taddr at = first;

	if (!oldmusl_read(g, first, &c) || c.before != OLDMUSL_USED || c.size == OLDMUSL_USED)
		return false;
	if (!whole)
		return is_chunk(g, first, end) || is_torn_chunk(g, first, c.size, end);
	while (is_chunk(g, at, end) && oldmusl_read(g, at, &c)) {
		if (c.size == OLDMUSL_USED)
			return true;
		at += oldmusl_bytes(c.size);
	}
	return false;
}

static int take_chunk(struct oldmusl *g, taddr at, uint64_t size)
{
	struct census_sum *sum = oldmusl_is_used(size) ? &g->c->arenas->used : &g->c->arenas->bins;
	const uint64_t bytes = oldmusl_bytes(size);

	sum->blocks++;
	sum->bytes += bytes;
	if (oldmusl_is_used(size))
		return census_blocks_add(g->c, at + OLDMUSL_HEAD, bytes - OLDMUSL_HEAD) ? 0 : -ENOMEM;
	g->free_chunks++;
	return 0;
}

/*
 * From the chunk at @at, after the one at @before, to the next; *size is what it has, or seems to have. 0: the
 * region cannot be followed any further.
 */
static taddr step(struct oldmusl *g, taddr before, taddr at, taddr end, uint64_t *size)
{
	const taddr next = is_size(*size, at, end) ? at + oldmusl_bytes(*size) : 0;
	struct oldmusl_chunk c;
	taddr other;

	if (next && oldmusl_read(g, next, &c) && c.before == *size)
		return next;
	census_doubt(g->c, g->at_work, at, "corrupt: the size of this chunk was overwritten");
	if (next && is_chunk(g, next, end))
		return next;
	other = next_by_its_size(g, before, at, end);
	if (other)
		*size = (other - at) | OLDMUSL_USED;
	return other;
}

int oldmusl_take_region(struct oldmusl *g, taddr first, taddr end, taddr *out)
{
	taddr at = first, before = first, next;
	struct oldmusl_chunk c;
	int r = 0;

	while (r == 0 && oldmusl_read(g, at, &c) && c.size != OLDMUSL_USED) {
		next = step(g, before, at, end, &c.size);
		if (!next)
			break;
		r = take_chunk(g, at, c.size);
		before = at;
		at = next;
	}
	*out = at + OLDMUSL_HEAD;
	if (r == 0 && (!oldmusl_read(g, at, &c) || c.size != OLDMUSL_USED)) {
		census_doubt(g->c, g->at_work, at, "corrupt, or not in the snapshot: there is no chunk here");
		g->c->unseen_bytes += end - at;
		*out = end;
	}
	return r;
}

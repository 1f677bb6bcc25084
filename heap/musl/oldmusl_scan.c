/* SPDX-License-Identifier: MIT */
/*
 * oldmusl_scan: all memory in which regions and mapped blocks can begin. A region begins with a page, from brk or
 * mmap; or it is what was left over in a file's data, anywhere.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "heap/census_blocks.h"
#include "heap/datamaps.h"
#include "heap/musl/oldmusl.h"

#define PAGE SNAPSHOT_PAGE
#define ALIGNED 64u			/* the least alignment that moves a block */
#define ALIGNED_TRIES 16384u		/* alignments of up to 64 MiB are found */

int oldmusl_add_extent(struct oldmusl *g, taddr lo, taddr hi, uint32_t arena)
{
	struct census *c = g->c;
	int r = grow_for(&c->areas, c->nareas, &g->area_room, sizeof(*c->areas));

	if (r == 0)
		c->areas[c->nareas++] = (struct census_area){ lo, hi, arena };
	if (r == 0 && arena != CENSUS_MMAPPED)
		c->arenas->walked_bytes += hi - lo;
	return r;
}

/* --- mapped blocks --- */

/* Can the chunk at @at have its mapping from @lo on? @bytes: how large that is. */
static bool is_mapped(struct oldmusl *g, taddr lo, taddr at, uint64_t *bytes)
{
	struct oldmusl_chunk c;

	if (!oldmusl_read(g, at, &c) || c.before != at - lo || oldmusl_is_used(c.size) || c.size <= OLDMUSL_HEAD)
		return false;
	*bytes = c.before + c.size;
	return *bytes > c.size && *bytes % PAGE == 0;
}

/*
 * The mapped block whose mapping begins at @lo, if there is one: where its chunk is, or 0. An aligned block begins
 * later than others, and the chunk where others begin is still there, with the size from before any realloc.
 */
static taddr mapped_chunk(struct oldmusl *g, taddr lo, taddr end, uint64_t *bytes)
{
	uint64_t most, other;
	unsigned tries = ALIGNED_TRIES;

	if (!is_mapped(g, lo, lo + OLDMUSL_HEAD, bytes))
		return 0;
	most = *bytes < end - lo ? *bytes : end - lo;
	/* powers of two up to a page, then any page */
	for (uint64_t off = ALIGNED; off < most && tries--; off += off < PAGE ? off : PAGE)
		if (is_mapped(g, lo, lo + off - OLDMUSL_HEAD, &other) && other <= end - lo) {
			*bytes = other;
			return lo + off - OLDMUSL_HEAD;
		}
	return *bytes <= end - lo ? lo + OLDMUSL_HEAD : 0;
}

static int take_mapped(struct oldmusl *g, taddr lo, taddr at, uint64_t bytes)
{
	const uint64_t head = at + OLDMUSL_HEAD - lo;

	g->c->mmapped.blocks++;
	g->c->mmapped.bytes += bytes;
	if (!census_blocks_add(g->c, at + OLDMUSL_HEAD, bytes - head))
		return -ENOMEM;
	return oldmusl_add_extent(g, lo, lo + bytes, CENSUS_MMAPPED);
}

/* --- regions --- */

static int take_region(struct oldmusl *g, taddr lo, taddr first, taddr end, taddr *out)
{
	int r = oldmusl_take_region(g, first, end, out);

	return r == 0 ? oldmusl_add_extent(g, lo, *out, 0) : r;
}

/* --- all memory --- */

/* What begins with the page at @lo. @out: where to go on. */
static int look_at_page(struct oldmusl *g, taddr lo, taddr end, taddr *out)
{
	uint64_t bytes;
	taddr at;

	if (oldmusl_is_region(g, lo + OLDMUSL_HEAD, end, false))
		return take_region(g, lo, lo + OLDMUSL_HEAD, end, out);
	at = mapped_chunk(g, lo, end, &bytes);
	if (!at)
		return 0;
	*out = lo + bytes;
	return take_mapped(g, lo, at, bytes);
}

/* A region that begins anywhere, at the chunk @at. */
static int look_at_rest(struct oldmusl *g, taddr at, taddr end, taddr *out)
{
	return oldmusl_is_region(g, at, end, true) ? take_region(g, at, at, end, out) : 0;
}

static taddr round_up(taddr at, uint64_t unit)
{
	return (at + unit - 1) & ~(unit - 1);
}

/* What begins at @at, at a page or not. *next: where to go on, if something does. */
static int look_at(struct oldmusl *g, taddr at, taddr end, bool data, taddr *next)
{
	int r = at % PAGE ? 0 : look_at_page(g, at, end, next);

	return r == 0 && data && *next <= at ? look_at_rest(g, at + OLDMUSL_HEAD, end, next) : r;
}

/* What we have of @m, which is a file's data or not. */
static int scan_mapping(struct oldmusl *g, const struct mapping *m, bool data, taddr *next)
{
	const struct snapshot *s = g->s;
	const uint64_t unit = data ? OLDMUSL_UNIT : PAGE;
	int r = 0;

	for (size_t i = snapshot_piece_from(s, m->lo); r == 0 && i < s->npieces && s->pieces[i].lo < m->hi; i++) {
		const struct snapshot_piece *p = &s->pieces[i];
		const taddr lo = p->lo > m->lo ? p->lo : m->lo;
		const taddr end = p->lo + p->size < m->hi ? p->lo + p->size : m->hi;
		taddr at = round_up(lo > *next ? lo : *next, unit);

		while (r == 0 && at < end) {
			r = look_at(g, at, m->hi, data, next);
			at = *next > at ? round_up(*next, unit) : at + unit;
		}
	}
	return r;
}

static bool is_data(const struct oldmusl *g, const struct mapping *wanted)
{
	struct datamaps data = datamaps_of(&g->s->maps);
	const struct mapping *m, *file;

	while ((m = datamaps_next(&data, &file)))
		if (m == wanted)
			return true;
	return false;
}

static bool can_be_heap(const struct mapping *m)
{
	const unsigned asked = MAPPING_READ | MAPPING_WRITE | MAPPING_SHARED;

	return (m->perms & asked) == (MAPPING_READ | MAPPING_WRITE) && !m->ino;
}

int oldmusl_take_all(struct oldmusl *g)
{
	const struct procmaps *maps = &g->s->maps;
	taddr next = 0;
	int r = census_blocks_reserve(g->c, g->s->bytes / OLDMUSL_UNIT + 1) ? 0 : -ENOMEM;

	for (size_t i = 0; i < maps->n && r == 0; i++) {
		const bool data = is_data(g, &maps->maps[i]);

		if (data || can_be_heap(&maps->maps[i]))
			r = scan_mapping(g, &maps->maps[i], data, &next);
	}
	return r;
}

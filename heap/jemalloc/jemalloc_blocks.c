/* SPDX-License-Identifier: MIT */
/*
 * jemalloc_blocks: what the extents hold: see jemalloc.h. Extents, regions and what is in caches are all in the
 * order of addresses, so that each is gone through once.
 */
#include "heap/jemalloc/jemalloc.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "heap/census_blocks.h"

struct taking {
	struct jemalloc *j;
	size_t cached;			/* the next one of j->cached */
	struct census_arena *arena;	/* of the extent */
	uint64_t *regions;		/* of its arena and class: in use */
};

/* --- sums --- */

/* The arena of @x in the census. NULL: no memory. */
static struct census_arena *arena_of(struct jemalloc *j, const struct jemalloc_extent *x)
{
	struct census *c = j->c;
	uint16_t *const at = &j->arena_of[x->bits & EXTENT_ARENA];
	uint64_t *regions;

	if (*at)
		return &c->arenas[*at - 1];
	regions = reallocarray(j->regions, c->narenas + 1, JEMALLOC_SMALL * sizeof(*regions));
	j->regions = regions ? regions : j->regions;
	if (!regions || grow_for(&c->arenas, c->narenas, &j->arena_room, sizeof(*c->arenas)) < 0) {
		j->no_memory = true;
		return NULL;
	}
	for (unsigned i = 0; i < JEMALLOC_SMALL; i++)
		regions[c->narenas * JEMALLOC_SMALL + i] = 0;
	c->arenas[c->narenas++] = (struct census_arena){ 0 };
	*at = (uint16_t)c->narenas;
	return &c->arenas[c->narenas - 1];
}

static void count(struct census_sum *sum, uint64_t bytes)
{
	sum->blocks++;
	sum->bytes += bytes;
}

/* --- areas --- */

static void take_area(struct jemalloc *j, taddr lo, taddr hi, uint32_t arena)
{
	struct census *c = j->c;
	struct census_area *last = c->nareas ? &c->areas[c->nareas - 1] : NULL;

	if (last && last->hi == lo && last->arena == arena)
		last->hi = hi;
	else if (grow_for(&c->areas, c->nareas, &j->area_room, sizeof(*c->areas)) < 0)
		j->no_memory = true;
	else
		c->areas[c->nareas++] = (struct census_area){ lo, hi, arena };
}

static int by_address(const void *pa, const void *pb)
{
	const struct census_area *a = pa, *b = pb;

	return (a->lo > b->lo) - (a->lo < b->lo);
}

/* jemalloc's own memory points to blocks, and is no root. It is in no arena of the sums. */
static void take_bases(struct jemalloc *j)
{
	for (size_t i = 0; i < j->nbases; i++)
		take_area(j, j->bases[i].lo, j->bases[i].hi, CENSUS_MMAPPED);
	if (j->c->nareas)
		qsort(j->c->areas, j->c->nareas, sizeof(*j->c->areas), by_address);
}

/* --- blocks --- */

/*
 * What the caches have of @at: NULL if it is the program's. An address before it that no slab has in use is in a
 * cache all the same: a thread is just emptying the cache, and others may have the block by now.
 */
static const struct jemalloc_cached *cached_at(struct taking *t, taddr at)
{
	struct jemalloc *j = t->j;
	const struct jemalloc_cached *found = NULL;

	for (; t->cached < j->ncached && j->cached[t->cached].at <= at; t->cached++) {
		const struct jemalloc_cached *c = &j->cached[t->cached];

		if (c->at == at && !found)
			found = c;
		else if (!c->fresh)
			census_unsure(j->c, 1, c->at, "a cache has a block that no slab has given out");
	}
	return found;
}

/* A block of @size at @at: the program's, unless a cache has it. */
static void take_block(struct taking *t, taddr at, uint64_t size)
{
	struct jemalloc *j = t->j;
	const struct jemalloc_cached *c = cached_at(t, at);

	if (c && c->own) {
		t->arena->other_bytes += size;
	} else if (c && !c->fresh) {
		count(&t->arena->tcache, size);
	} else {
		census_unsure(j->c, c != NULL, at, "a block that is just being put into a cache");
		count(&t->arena->used, size);
		j->no_memory |= !census_blocks_add(j->c, at, size);
	}
}

static void take_slab(struct taking *t, const struct jemalloc_extent *x)
{
	struct jemalloc *j = t->j;
	const unsigned class = extent_class(j->version, x->bits);
	const uint64_t size = jemalloc_size(class), n = size ? x->bytes / size : 0;
	uint64_t used = 0, bits = 0;

	if (class >= JEMALLOC_SMALL || !n || n > JEMALLOC_REGIONS) {
		jemalloc_problem(j, x->at, "a slab of " PRItaddr " bytes cannot have class %u", x->bytes, class);
		t->arena->other_bytes += x->bytes;
		return;
	}
	for (unsigned i = 0; i < n; i++) {
		if (i % 64 == 0 && !snapshot_cursor_word(&j->cursor, x->at + EXTENT_BITMAP + i / 8, &bits)) {
			jemalloc_problem(j, x->at, "the bitmap of a slab is not there");
			return;
		}
		if (bits >> i % 64 & 1)
			continue;
		used++;
		take_block(t, x->lo + i * size, size);
	}
	t->arena->bins.blocks += n - used;
	t->arena->bins.bytes += (n - used) * size;
	t->arena->other_bytes += x->bytes - n * size;
	t->regions[class] += used;
	j->shards |= x->bits >> j->version->shard_shift & 0x3f;
	/* the two are changed one after the other */
	census_unsure(j->c, n - used != extent_free(j, x->bits), x->at,
		      "a slab counts other free blocks than it has");
}

static void take_large(struct taking *t, const struct jemalloc_extent *x)
{
	const uint64_t size = jemalloc_size(extent_class(t->j->version, x->bits));

	if (!size || size > x->bytes - (x->addr - x->lo)) {
		jemalloc_problem(t->j, x->at, "an extent of " PRItaddr " bytes cannot have class %u", x->bytes,
				 extent_class(t->j->version, x->bits));
		t->arena->other_bytes += x->bytes;
		return;
	}
	take_block(t, x->addr, size);
	t->arena->other_bytes += x->bytes - size;
}

static void take_extent(struct taking *t, const struct jemalloc_extent *x)
{
	struct jemalloc *j = t->j;
	t->arena = arena_of(j, x);
	if (!t->arena)
		return;
	t->regions = &j->regions[(size_t)(t->arena - j->c->arenas) * JEMALLOC_SMALL];
	t->arena->system_bytes += x->bytes;
	t->arena->walked_bytes += x->bytes;
	take_area(j, x->lo, x->lo + x->bytes, (uint32_t)(t->arena - j->c->arenas));
	if (!x->taken)
		t->arena->top_bytes += x->bytes;
	else if (x->bits & EXTENT_SLAB)
		take_slab(t, x);
	else
		take_large(t, x);
}

/* As many blocks as there can be. */
static size_t most_blocks(const struct jemalloc *j)
{
	size_t n = 0;

	for (size_t i = 0; i < j->nextents; i++)
		n += j->extents[i].bits & EXTENT_SLAB ? JEMALLOC_REGIONS : 1;
	return n;
}

int jemalloc_take_blocks(struct jemalloc *j)
{
	struct taking t = { .j = j };

	if (!census_blocks_reserve(j->c, most_blocks(j)))
		return -ENOMEM;
	for (size_t i = 0; i < j->nextents && !j->no_memory; i++)
		take_extent(&t, &j->extents[i]);
	(void)cached_at(&t, UINT64_MAX);
	take_bases(j);
	census_blocks_trim(j->c);
	return j->no_memory ? -ENOMEM : 0;
}

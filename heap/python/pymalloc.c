/* SPDX-License-Identifier: MIT */
/* pymalloc: see pymalloc.h. The tables of arenas; what is in an arena: pymalloc_pools.c. */
#include "heap/python/pymalloc.h"

#include <stdlib.h>
#include <string.h>

#include "base/addr_search.h"
#include "base/grow.h"
#include "heap/python/pymalloc_parts.h"

#define TABLE_FIRST 16u		/* entries of the first table; each later one has twice as many */
#define TABLE_MOST (1u << 24)

struct pymalloc_sizes pymalloc_sizes_of(unsigned minor)
{
	if (minor < 10)
		return (struct pymalloc_sizes){ 256 << 10, 4 << 10 };
	return (struct pymalloc_sizes){ 1 << 20, 16 << 10 };
}

/* An entry without an arena has only links. */
static bool is_plausible(const struct pymalloc *p, const struct pymalloc_entry *e)
{
	const taddr base = pymalloc_base(p, e);

	if (!e->address)
		return true;
	return e->address % SNAPSHOT_PAGE == 0 && e->total == pymalloc_pools_of(p, e) && e->free <= e->total &&
	       e->pool_address >= base && e->pool_address <= base + e->total * p->sizes.pool &&
	       (e->pool_address - base) % p->sizes.pool == 0;
}

/* Has the first pool of the arena its number? */
static bool is_numbered(const struct pymalloc *p, const struct snapshot *s, const struct pymalloc_entry *e,
			uint32_t number)
{
	struct pymalloc_head head;

	return e->pool_address > pymalloc_base(p, e) &&
	       snapshot_read(s, pymalloc_base(p, e), &head, sizeof(head)) == 0 && head.arena == number;
}

/* How many entries the block has if it is a table; 0: it is none. */
static size_t table_entries(const struct pymalloc *p, const struct snapshot *s, const struct block *b)
{
	size_t n = TABLE_FIRST, numbered = 0, ends = 0;

	if (b->size < n * sizeof(struct pymalloc_entry))
		return 0;
	while (n < TABLE_MOST && 2 * n * sizeof(struct pymalloc_entry) <= b->size)
		n *= 2;
	for (size_t i = 0; i < n; i++) {
		struct pymalloc_entry e;

		if (snapshot_read(s, b->addr + i * sizeof(e), &e, sizeof(e)) < 0 || !is_plausible(p, &e))
			return 0;
		/* those without an arena are in one list: zeros are no table */
		if (!e.address && !e.next && ends++)
			return 0;
		numbered += e.address && is_numbered(p, s, &e, (uint32_t)i);
	}
	return numbered ? n : 0;
}

static int take_table(struct pymalloc *p, const struct snapshot *s, taddr at, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct pymalloc_entry e;
		int r;

		if (snapshot_read(s, at + i * sizeof(e), &e, sizeof(e)) < 0 || !e.address)
			continue;
		r = pymalloc_take_arena(p, s, &e, (uint32_t)i);
		if (r < 0)
			return r;
	}
	return 0;
}

static int arena_order(const void *pa, const void *pb)
{
	const struct pymalloc_arena *a = pa, *b = pb;

	return (a->at > b->at) - (a->at < b->at);
}

int pymalloc_take(const struct snapshot *s, const struct census *c, struct pymalloc_sizes sizes,
		  struct pymalloc *out)
{
	int r = 0;

	*out = (struct pymalloc){ .sizes = sizes };
	for (size_t i = 0; i < c->nblocks && r == 0; i++) {
		const size_t n = table_entries(out, s, &c->blocks[i]);

		if (n)
			r = take_table(out, s, c->blocks[i].addr, n);
	}
	if (out->narenas)
		qsort(out->arenas, out->narenas, sizeof(*out->arenas), arena_order);
	if (r < 0)
		pymalloc_fini(out);
	return r;
}

/* --- only the arenas --- */

static int add_ranges(const struct pymalloc *p, const struct snapshot *s, taddr at, size_t entries,
		      struct snapshot_range **out, size_t *n)
{
	for (size_t i = 0; i < entries; i++) {
		struct pymalloc_entry e;
		struct snapshot_range *slot;

		if (snapshot_read(s, at + i * sizeof(e), &e, sizeof(e)) < 0 || !e.address ||
		    !is_numbered(p, s, &e, (uint32_t)i))
			continue;
		slot = grow_by_one(out, *n, sizeof(*slot));
		if (!slot)
			return -ENOMEM;
		*slot = (struct snapshot_range){ e.address, e.address + p->sizes.arena };
		++*n;
	}
	return 0;
}

int pymalloc_arenas(const struct snapshot *s, const struct census *c, struct pymalloc_sizes sizes,
		    struct snapshot_range **out, size_t *n)
{
	const struct pymalloc p = { .sizes = sizes };
	int r = 0;

	*out = NULL;
	*n = 0;
	for (size_t i = 0; i < c->nblocks && r == 0; i++) {
		const size_t entries = table_entries(&p, s, &c->blocks[i]);

		r = add_ranges(&p, s, c->blocks[i].addr, entries, out, n);
	}
	if (*n)
		*n = snapshot_join(*out, *n);
	if (r < 0)
		free(*out);
	return r;
}

/* --- the end --- */

void pymalloc_fini(struct pymalloc *p)
{
	free(p->arenas);
	free(p->pools);
	free(p->used);
	memset(p, 0, sizeof(*p));
}

size_t pymalloc_slot(const struct pymalloc *p, taddr at, const struct pymalloc_pool **pool)
{
	const size_t i = ADDR_SEARCH(p->arenas, p->narenas, at, at);
	const struct pymalloc_arena *a;
	const struct pymalloc_pool *in;

	if (!i)
		return PYMALLOC_NONE;
	a = &p->arenas[i - 1];
	if ((at - a->at) / p->sizes.pool >= a->pools)
		return PYMALLOC_NONE;
	in = &p->pools[a->first + (at - a->at) / p->sizes.pool];
	if (!in->size || at < in->at || (at - in->at) / in->size >= in->slots)
		return PYMALLOC_NONE;
	*pool = in;
	return in->first + (at - in->at) / in->size;
}

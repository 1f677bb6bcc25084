/* SPDX-License-Identifier: MIT */
#include "heap/census_order.h"

#include <stdlib.h>

static int by_addr(const void *pa, const void *pb)
{
	const struct block *a = pa, *b = pb;

	if (a->addr != b->addr)
		return a->addr > b->addr ? 1 : -1;
	return (a->size < b->size) - (a->size > b->size);
}

static int by_lo(const void *pa, const void *pb)
{
	const struct census_area *a = pa, *b = pb;

	if (a->lo != b->lo)
		return a->lo > b->lo ? 1 : -1;
	return (a->hi < b->hi) - (a->hi > b->hi);
}

/* Most allocators list their blocks nearly sorted: looking costs little. */
static bool blocks_are_sorted(const struct census *c)
{
	for (size_t i = 1; i < c->nblocks; i++)
		if (c->blocks[i - 1].addr >= c->blocks[i].addr)
			return false;
	return true;
}

static taddr order_blocks(struct census *c)
{
	taddr first = 0, end = 0;
	size_t kept = 0;

	if (!blocks_are_sorted(c))
		qsort(c->blocks, c->nblocks, sizeof(*c->blocks), by_addr);
	for (size_t i = 0; i < c->nblocks; i++) {
		const struct block b = c->blocks[i];

		if (kept && (b.addr < end || b.addr == c->blocks[kept - 1].addr)) {
			first = first ? first : b.addr;
			continue;
		}
		end = b.addr + b.size;
		c->blocks[kept++] = b;
	}
	c->nblocks = kept;
	return first;
}

static taddr order_areas(struct census *c)
{
	taddr first = 0;
	size_t kept = 0;

	if (c->nareas)
		qsort(c->areas, c->nareas, sizeof(*c->areas), by_lo);
	for (size_t i = 0; i < c->nareas; i++) {
		if (kept && c->areas[i].lo < c->areas[kept - 1].hi) {
			first = first ? first : c->areas[i].lo;
			continue;
		}
		c->areas[kept++] = c->areas[i];
	}
	c->nareas = kept;
	return first;
}

taddr census_order(struct census *c)
{
	const taddr block = order_blocks(c), area = order_areas(c);

	return block ? block : area;
}

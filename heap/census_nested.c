/* SPDX-License-Identifier: MIT */
#include "heap/census_nested.h"

#include <errno.h>
#include <stdlib.h>

#include "heap/python/pymalloc.h"
#include "heap/python/python_version.h"

static bool is_in(const struct snapshot_range *all, size_t n, taddr at)
{
	const size_t i = ADDR_SEARCH(all, n, lo, at);

	return i && at < all[i - 1].hi;
}

static void drop_block(struct census *c, taddr lo, taddr hi)
{
	size_t kept = ADDR_SEARCH(c->blocks, c->nblocks, addr, lo), i = kept;

	while (i < c->nblocks && c->blocks[i].addr < hi)
		i++;
	for (; i < c->nblocks; i++)
		c->blocks[kept++] = c->blocks[i];
	c->nblocks = kept;
}

static void drop_all(struct census *c, const struct snapshot_range *all, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->nareas; i++) {
		const struct census_area *a = &c->areas[i];

		if (a->arena != CENSUS_MMAPPED || !is_in(all, n, a->lo)) {
			c->areas[kept++] = *a;
			continue;
		}
		drop_block(c, a->lo, a->hi);
		c->mmapped.blocks--;
		c->mmapped.bytes -= a->hi - a->lo;
	}
	c->nareas = kept;
}

int census_nested_drop(const struct snapshot *s, struct census *c)
{
	const bool agreed = census_mapped_add_up(c);
	struct python_version version;
	struct snapshot_range *all;
	size_t n;

	if (!c->known || !c->mmapped.blocks || !python_version_find(s, &version))
		return 0;
	if (pymalloc_arenas(s, c, pymalloc_sizes_of(version.minor), &all, &n) < 0)
		return -ENOMEM;
	drop_all(c, all, n);
	free(all);
	if (!agreed && census_mapped_add_up(c))
		c->differing--;
	return 0;
}

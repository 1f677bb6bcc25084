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

static void drop_blocks(struct census *c, const struct snapshot_range *dropped, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; n && i < c->nblocks; i++)
		if (!is_in(dropped, n, c->blocks[i].addr))
			c->blocks[kept++] = c->blocks[i];
	if (n)
		c->nblocks = kept;
}

/* 0 or -ENOMEM. */
static int drop_all(struct census *c, const struct snapshot_range *all, size_t n)
{
	struct snapshot_range *dropped = calloc(c->nareas + 1, sizeof(*dropped));
	size_t kept = 0, ndropped = 0;

	if (!dropped)
		return -ENOMEM;
	for (size_t i = 0; i < c->nareas; i++) {
		const struct census_area *a = &c->areas[i];

		if (a->arena != CENSUS_MMAPPED || !is_in(all, n, a->lo) || !c->mmapped.blocks) {
			c->areas[kept++] = *a;
			continue;
		}
		dropped[ndropped++] = (struct snapshot_range){ a->lo, a->hi };
		c->mmapped.blocks--;
		c->mmapped.bytes -= a->hi - a->lo;
	}
	c->nareas = kept;
	drop_blocks(c, dropped, ndropped);
	free(dropped);
	return 0;
}

int census_nested_drop(const struct snapshot *s, struct census *c)
{
	const bool agreed = census_mapped_add_up(c);
	struct python_version version;
	struct snapshot_range *all;
	size_t n;
	int r;

	if (!c->known || !c->mmapped.blocks || !python_version_find(s, &version))
		return 0;
	if (pymalloc_arenas(s, c, pymalloc_sizes_of(version.minor), &all, &n) < 0)
		return -ENOMEM;
	r = drop_all(c, all, n);
	free(all);
	if (r < 0)
		return r;
	if (!agreed && census_mapped_add_up(c))
		c->differing--;
	return 0;
}

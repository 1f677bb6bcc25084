/* SPDX-License-Identifier: MIT */
/* nodes: see nodes.h. */
#include "heap/reach/nodes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "heap/reach/blockindex.h"

struct merge {
	struct nodes *nd;
	size_t holder_room;
};

static void add(struct nodes *nd, struct block b, uint32_t given)
{
	struct block *last = nd->n ? &nd->merged[nd->n - 1] : NULL;

	if (last && last->size > b.addr - last->addr)
		last->size = b.addr - last->addr;
	nd->merged[nd->n] = b;
	nd->given[nd->n++] = given;
}

static int add_holder(struct merge *m, const struct block *b)
{
	struct nodes *nd = m->nd;

	if (grow_for(&nd->holders, nd->nholders, &m->holder_room, sizeof(*nd->holders)) < 0)
		return -ENOMEM;
	nd->holders[nd->nholders++] = (struct snapshot_range){ b->addr, b->addr + b->size };
	return 0;
}

/*
 * A block of the census, and the @n given ones that begin in it. If there is just one, at its beginning, the
 * two are the same.
 */
static int add_census(struct merge *m, const struct block *c, const struct block *given, size_t n)
{
	if (n == 0)
		add(m->nd, *c, BLOCK_NONE);
	else if (n > 1 || given->addr != c->addr)
		return add_holder(m, c);
	return 0;
}

static int merge(struct merge *m, const struct reach_input *in)
{
	const struct census *c = in->census;
	size_t g = 0;

	for (size_t i = 0; i < c->nblocks; i++) {
		const struct block *b = &c->blocks[i];
		size_t inside;

		for (; g < in->nblocks && in->blocks[g].addr < b->addr; g++)
			add(m->nd, in->blocks[g], (uint32_t)g);
		for (inside = g; inside < in->nblocks && block_holds(b, in->blocks[inside].addr); inside++)
			;
		if (add_census(m, b, in->blocks + g, inside - g) < 0)
			return -ENOMEM;
		for (; g < inside; g++)
			add(m->nd, in->blocks[g], (uint32_t)g);
	}
	for (; g < in->nblocks; g++)
		add(m->nd, in->blocks[g], (uint32_t)g);
	return 0;
}

static bool sorted(const struct block *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (b[i].addr + b[i].size < b[i].addr || (i && b[i].addr <= b[i - 1].addr))
			return false;
	return true;
}

int nodes_init(struct nodes *nd, const struct reach_input *in)
{
	struct merge m = { nd, 0 };
	size_t room;

	memset(nd, 0, sizeof(*nd));
	if (!in->census || !in->census->known || in->blocks == in->census->blocks) {
		nd->blocks = in->blocks;
		nd->n = in->nblocks;
		return 0;
	}
	if (!sorted(in->blocks, in->nblocks) || !sorted(in->census->blocks, in->census->nblocks))
		return -EINVAL;
	room = in->nblocks + in->census->nblocks;
	if (room > BLOCKS_MAX)
		return -E2BIG;
	nd->merged = calloc(room + 1, sizeof(*nd->merged));
	nd->given = calloc(room + 1, sizeof(*nd->given));
	if (!nd->merged || !nd->given || merge(&m, in) < 0) {
		nodes_fini(nd);
		return -ENOMEM;
	}
	nd->blocks = nd->merged;
	return 0;
}

void nodes_fini(struct nodes *nd)
{
	free(nd->merged);
	free(nd->given);
	free(nd->holders);
	memset(nd, 0, sizeof(*nd));
}

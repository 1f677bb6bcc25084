/* SPDX-License-Identifier: MIT */
/*
 * dtvs: see dtvs.h.
 *
 *	struct pthread: its own address, the DTV ──┐
 *	                                           ▼
 *	block: [how many][    ][generation][    ][first module's] ...		pairs of words
 *
 * The pointer is to the second pair. The length that the DTV has must fit into the block.
 */
#include "heap/reach/dtvs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "heap/reach/threadstacks.h"

#define DTV_IN_PTHREAD 8
#define PAIR 16u

/*
 * The index of the block that is the DTV of the thread with this struct pthread; nblocks: there is none, or
 * it was removed before.
 */
static size_t find_dtv(const struct snapshot *s, const struct census *c, taddr pthread)
{
	uint64_t dtv, count;
	size_t i;

	if (!pthread || snapshot_word(s, pthread + DTV_IN_PTHREAD, &dtv) < 0 || dtv < PAIR)
		return c->nblocks;
	i = block_at(c->blocks, c->nblocks, dtv - PAIR);
	if (i == c->nblocks || snapshot_word(s, dtv - PAIR, &count) < 0 || count >= UINT64_MAX / PAIR - 2)
		return c->nblocks;
	if (c->blocks[i].size == UINT64_MAX || (count + 2) * PAIR > c->blocks[i].size)
		return c->nblocks;
	return i;
}

static struct census_arena *arena_of(struct census *c, taddr addr)
{
	const struct census_area *area = census_area_at(c, addr);

	return area && area->arena < c->narenas ? &c->arenas[area->arena] : NULL;
}

/* Block number @i no longer counts as the program's; its element stays for now, with an impossible size. */
static void set_apart(struct census *c, size_t i, struct census_arena *arena)
{
	const uint64_t chunk = c->blocks[i].size + arena->head_bytes;

	c->own[c->nown++] = c->blocks[i];
	arena->used.blocks--;
	arena->used.bytes -= chunk;
	arena->other_bytes += chunk;
	c->blocks[i].size = UINT64_MAX;
}

static void close_gaps(struct census *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->nblocks; i++)
		if (c->blocks[i].size != UINT64_MAX)
			c->blocks[kept++] = c->blocks[i];
	c->nblocks = kept;
}

static int set_all_apart(const struct snapshot *s, const struct threadstacks *st, struct census *c)
{
	const size_t before = c->nown;
	struct block *own = reallocarray(c->own, c->nown + st->n + 1, sizeof(*own));

	if (!own)
		return -ENOMEM;
	c->own = own;
	for (size_t i = 0; i < st->n; i++) {
		const struct stack *k = &st->all[i];
		size_t block = find_dtv(s, c, k->self);
		struct census_arena *arena = block < c->nblocks ? arena_of(c, c->blocks[block].addr) : NULL;

		if (arena)
			set_apart(c, block, arena);
	}
	if (c->nown == before)
		return 0;
	qsort(c->own, c->nown, sizeof(*c->own), block_order);
	close_gaps(c);
	return 0;
}

int dtvs_set_apart(const struct snapshot *s, struct census *c)
{
	struct threadstacks st;
	int r;

	if (!c->known)
		return 0;
	r = threadstacks_find(&st, s);
	if (r == 0)
		r = set_all_apart(s, &st, c);
	threadstacks_fini(&st);
	return r;
}

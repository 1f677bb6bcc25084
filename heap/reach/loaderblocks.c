/* SPDX-License-Identifier: MIT */
/*
 * loaderblocks: see loaderblocks.h. A DTV:
 *
 *	struct pthread: its own address, the DTV ──┐
 *	                                           ▼
 *	block: [how many][    ][generation][    ][first module's] ...		pairs of words
 *
 * The pointer is to the second pair. A table of objects, to which a variable of the loader points, or a newer
 * table:
 *
 *	block: ..., at a multiple of 128: [older table][the block][entries in use][entries] and the entries
 *
 * In both cases the length that the table has must fit into the block.
 */
#include "heap/reach/loaderblocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "heap/datawords.h"
#include "heap/threadstacks.h"

#define DTV_IN_PTHREAD 8
#define PAIR 16u
#define TABLE_ALIGNED 128u	/* glibc's estimate of a cache line, for all processors */
#define TABLE_ENTRY 32u
#define TABLES_MAX 64u		/* in two lists, in each of which every table is twice as long as the last */

/* --- DTVs --- */

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

/* --- tables of objects --- */

struct table {
	uint64_t older, block, used, entries;
};

/* The index of the block with a table of objects at @at; nblocks: there is none, or it was removed before. */
static size_t find_table(const struct snapshot *s, const struct census *c, taddr at, struct table *t)
{
	size_t i;

	if (!at || at % TABLE_ALIGNED || !census_area_at(c, at) || snapshot_read(s, at, t, sizeof(*t)) < 0 ||
	    at - t->block >= TABLE_ALIGNED || t->used > t->entries)
		return c->nblocks;
	i = block_at(c->blocks, c->nblocks, t->block);
	if (i == c->nblocks || c->blocks[i].size == UINT64_MAX ||
	    t->entries > c->blocks[i].size / TABLE_ENTRY ||
	    at + sizeof(*t) + t->entries * TABLE_ENTRY > c->blocks[i].addr + c->blocks[i].size)
		return c->nblocks;
	return i;
}

/* --- both --- */

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

static void set_dtvs_apart(const struct snapshot *s, const struct threadstacks *st, struct census *c)
{
	for (size_t i = 0; i < st->n; i++) {
		const size_t block = find_dtv(s, c, st->all[i].self);
		struct census_arena *arena = block < c->nblocks ? arena_of(c, c->blocks[block].addr) : NULL;

		if (arena)
			set_apart(c, block, arena);
	}
}

/* The table at @at, if there is one, and older ones. */
static void set_tables_apart(const struct snapshot *s, struct census *c, taddr at, size_t most)
{
	struct table t;
	size_t block;

	while (c->nown < most && (block = find_table(s, c, at, &t)) < c->nblocks) {
		struct census_arena *arena = arena_of(c, c->blocks[block].addr);

		if (!arena)
			return;
		set_apart(c, block, arena);
		at = t.older;
	}
}

static void set_all_tables_apart(const struct snapshot *s, struct census *c)
{
	const size_t most = c->nown + TABLES_MAX;
	struct datawords d = datawords_of(s);
	uint64_t word;

	while (datawords_next(&d))
		for (taddr at = (d.lo + 7) & ~UINT64_C(7); at + sizeof(word) <= d.hi; at += sizeof(word)) {
			memcpy(&word, d.bytes + (at - d.lo), sizeof(word));
			set_tables_apart(s, c, word, most);
		}
}

static int set_all_apart(const struct snapshot *s, const struct threadstacks *st, struct census *c)
{
	const size_t before = c->nown;
	struct block *own = reallocarray(c->own, c->nown + st->n + TABLES_MAX, sizeof(*own));

	if (!own)
		return -ENOMEM;
	c->own = own;
	set_dtvs_apart(s, st, c);
	set_all_tables_apart(s, c);
	if (c->nown == before)
		return 0;
	qsort(c->own, c->nown, sizeof(*c->own), block_order);
	close_gaps(c);
	return 0;
}

int loaderblocks_set_apart(const struct snapshot *s, struct census *c)
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

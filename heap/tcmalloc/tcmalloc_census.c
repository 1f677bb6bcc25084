/* SPDX-License-Identifier: MIT */
/* tcmalloc_census: see tcmalloc.h: what is found becomes a census. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "heap/atwork.h"
#include "heap/census_blocks.h"
#include "heap/census_order.h"
#include "heap/tcmalloc/tcmalloc.h"

/* The head of a block of the debugging version: of malloc's, not of new's. */
#define DEBUG_WORD_AT 16u
#define DEBUG_WORD 0xdeadbeefu
#define DEBUG_LEAST 48u
#define DEBUG_LOOKS 4096u

static int make_arena(struct tcmalloc *g)
{
	struct census *c = g->c;

	c->arenas = calloc(1, sizeof(*c->arenas));
	if (!c->arenas)
		return -ENOMEM;
	c->narenas = 1;
	/* its transfer caches keep the addresses of blocks that have left them */
	c->arenas->at = g->central;
	c->arenas->state_bytes = g->nclasses * TCMALLOC_CENTRAL_BYTES;
	c->known = true;
	c->between = g->at_work;
	/* large blocks are in the arena, too */
	c->mmapped_claimed = 0;
	snprintf(c->layout, sizeof(c->layout), "tcmalloc %s", g->version->name);
	return 0;
}

/* --- areas --- */

static bool add_area(struct tcmalloc *g, taddr lo, taddr hi, uint32_t arena)
{
	struct census *c = g->c;
	struct census_area *last = c->nareas ? &c->areas[c->nareas - 1] : NULL;

	if (last && last->hi == lo && last->arena == arena) {
		last->hi = hi;
		return true;
	}
	if (grow_for(&c->areas, c->nareas, &g->area_room, sizeof(*c->areas)) < 0)
		return false;
	c->areas[c->nareas++] = (struct census_area){ lo, hi, arena };
	return true;
}

static int take_areas(struct tcmalloc *g)
{
	bool ok = true;

	for (size_t i = 0; i < g->nspans && ok; i++)
		ok = add_area(g, g->spans[i].lo, g->spans[i].lo + g->spans[i].bytes, 0);
	for (size_t i = 0; i < g->nmetas && ok; i++)
		ok = add_area(g, g->metas[i].lo, g->metas[i].hi, CENSUS_MMAPPED);
	return ok ? 0 : -ENOMEM;
}

/* --- blocks --- */

/* A sampled one has a struct that begins with how many bytes were asked for. */
static uint64_t sampled_size(struct tcmalloc *g, const struct tcmalloc_span *p)
{
	const uint64_t asked = tcmalloc_word_or_0(g, p->objects);
	const uint64_t page = UINT64_C(1) << g->page_shift;

	for (unsigned i = 1; i < g->nclasses; i++)
		if (asked <= g->classes[i].size)
			return g->classes[i].size < p->bytes ? g->classes[i].size : p->bytes;
	return asked < p->bytes ? (asked + page - 1) & ~(page - 1) : p->bytes;
}

static int take_span(struct tcmalloc *g, const struct tcmalloc_span *p)
{
	struct census_arena *a = g->c->arenas;
	const uint64_t size = p->class     ? g->classes[p->class].size
			      : p->sampled ? sampled_size(g, p)
					   : p->bytes;

	for (uint64_t i = 0; i < p->blocks; i++) {
		if (tcmalloc_is_free(g, p, i))
			continue;
		a->used.blocks++;
		a->used.bytes += size;
		if (!census_blocks_add(g->c, p->lo + i * size, size))
			return -ENOMEM;
	}
	return 0;
}

static int take_blocks(struct tcmalloc *g)
{
	struct census_arena *a = g->c->arenas;
	uint64_t counted;
	int r = census_blocks_reserve(g->c, g->nbits + 1) ? 0 : -ENOMEM;

	for (size_t i = 0; i < g->nspans && r == 0; i++)
		if (!g->spans[i].place)
			r = take_span(g, &g->spans[i]);
	if (r < 0)
		return r;
	counted = a->used.bytes + a->bins.bytes + a->tcache.bytes + a->top_bytes;
	a->other_bytes = a->walked_bytes > counted ? a->walked_bytes - counted : 0;
	(void)census_order(g->c);
	census_blocks_trim(g->c);
	return 0;
}

/*
 * In the debugging version blocks have heads, and what was freed is kept back for a while: one has a known
 * word.
 */
static void note_debugging(struct tcmalloc *g)
{
	size_t heads = 0, n = 0;

	for (size_t i = 0; i < g->c->nblocks && n < DEBUG_LOOKS; i++) {
		if (g->c->blocks[i].size < DEBUG_LEAST)
			continue;
		n++;
		heads += tcmalloc_word_or_0(g, g->c->blocks[i].addr + DEBUG_WORD_AT) == DEBUG_WORD;
	}
	if (heads > n / 16)
		tcmalloc_problem(g, g->central,
				 "this is tcmalloc's debugging version: what it keeps back looks like blocks");
}

static int take(struct tcmalloc *g)
{
	int r = make_arena(g);

	if (r == 0)
		r = tcmalloc_list_spans(g);
	if (r == 0)
		r = tcmalloc_mark(g);
	if (r == 0)
		tcmalloc_look_for_chains(g);
	if (r == 0)
		r = take_areas(g);
	if (r == 0)
		r = take_blocks(g);
	if (r == 0)
		note_debugging(g);
	return r;
}

int tcmalloc_census(const struct snapshot *s, struct census *c)
{
	struct tcmalloc g = { .s = s, .c = c, .cursor = snapshot_cursor_of(s) };
	int r = tcmalloc_find(&g);

	if (r == 0) {
		g.at_work = atwork_in_file(s, g.file, g.data_lo, g.data_hi);
		r = take(&g);
	}
	free(g.caches);
	free(g.spans);
	free(g.metas);
	free(g.bits);
	return r;
}

/* SPDX-License-Identifier: MIT */
/*
 * pymalloc_pools: which slots of an arena's pools are in use: those that were ever given out, without those of
 * the free list.
 */
#include <string.h>

#include "base/grow.h"
#include "heap/python/pymalloc_parts.h"

#define HEAD sizeof(struct pymalloc_head)

static bool is_plausible(const struct pymalloc *p, const struct pymalloc_head *h, uint32_t number)
{
	const uint32_t size = (h->class + 1) * PYMALLOC_UNIT;

	return h->arena == number && h->class < PYMALLOC_CLASSES && h->maxnextoffset == p->sizes.pool - size &&
	       h->nextoffset >= HEAD + size && h->nextoffset <= p->sizes.pool &&
	       (h->nextoffset - HEAD) % size == 0;
}

/* Mark the slots of the free list as free. How many they are; more than there are slots: it is corrupt. */
static uint32_t mark_free(struct pymalloc *p, const struct snapshot *s, const struct pymalloc_pool *pool, taddr at)
{
	uint32_t n = 0;

	while (at && n <= pool->slots) {
		const taddr offset = at - pool->at;

		if (at < pool->at || offset % pool->size || offset / pool->size >= pool->slots ||
		    !p->used[pool->first + offset / pool->size] || snapshot_word(s, at, &at) < 0)
			return UINT32_MAX;
		p->used[pool->first + offset / pool->size] = 0;
		n++;
	}
	return n;
}

static int take_slots(struct pymalloc *p, const struct snapshot *s, const struct pymalloc_head *h,
		      struct pymalloc_pool *pool)
{
	uint32_t free_slots, used = 0;

	if (grow_for(&p->used, p->nslots + pool->slots, &p->slot_room, sizeof(*p->used)) < 0)
		return -ENOMEM;
	memset(p->used + p->nslots, 1, pool->slots);
	p->nslots += pool->slots;
	free_slots = mark_free(p, s, pool, h->freeblock);
	for (uint32_t i = 0; i < pool->slots; i++)
		used += p->used[pool->first + i];
	p->differing += free_slots == UINT32_MAX || used != h->used;
	p->blocks += used;
	p->bytes += (uint64_t)used * pool->size;
	p->free_bytes += p->sizes.pool - HEAD - (uint64_t)used * pool->size;
	return 0;
}

static int take_pool(struct pymalloc *p, const struct snapshot *s, taddr at, uint32_t number, uint32_t *empty)
{
	struct pymalloc_pool *pool = &p->pools[p->npools++];
	struct pymalloc_head h;

	*pool = (struct pymalloc_pool){ .at = at + HEAD, .first = p->nslots };
	if (snapshot_read(s, at, &h, sizeof(h)) < 0 || h.arena != number) {
		p->unseen_bytes += p->sizes.pool;
		return 0;
	}
	if (!h.used) {
		++*empty;
		return 0;
	}
	if (!is_plausible(p, &h, number)) {
		p->unseen_bytes += p->sizes.pool;
		p->differing++;
		return 0;
	}
	pool->size = (h.class + 1) * PYMALLOC_UNIT;
	pool->slots = (h.nextoffset - (uint32_t)HEAD) / pool->size;
	return take_slots(p, s, &h, pool);
}

int pymalloc_take_arena(struct pymalloc *p, const struct snapshot *s, const struct pymalloc_entry *e,
			uint32_t number)
{
	const taddr base = pymalloc_base(p, e);
	const size_t pools = (size_t)((e->pool_address - base) / p->sizes.pool);
	uint32_t empty = e->total - (uint32_t)pools;
	int r = 0;

	if (grow_for(&p->arenas, p->narenas, &p->arena_room, sizeof(*p->arenas)) < 0 ||
	    grow_for(&p->pools, p->npools + pools, &p->pool_room, sizeof(*p->pools)) < 0)
		return -ENOMEM;
	p->arenas[p->narenas++] = (struct pymalloc_arena){ base, p->npools, pools };
	for (size_t i = 0; i < pools && r == 0; i++)
		r = take_pool(p, s, base + i * p->sizes.pool, number, &empty);
	p->arena_bytes += e->total * p->sizes.pool;
	p->empty_bytes += (uint64_t)empty * p->sizes.pool;
	p->differing += empty != e->free;
	return r;
}

/* SPDX-License-Identifier: MIT */
/* pynodes: the blocks of pymalloc and of malloc under one numbering: see pyobjects_parts.h. */
#include "heap/python/pyobjects_parts.h"

#define HIGHEST (UINT64_C(1) << 47)

static int each_of_pool(struct pyobjects_run *run, const struct pymalloc_pool *pool,
			int (*fn)(struct pyobjects_run *, const struct pynode *))
{
	int r = 0;

	for (size_t i = pool->first; i < pool->first + pool->slots && r >= 0; i++)
		if (run->small.used[i])
			r = fn(run, &(struct pynode){ i, pymalloc_address(pool, i), pool->size });
	return r;
}

int pynodes_each(struct pyobjects_run *run, int (*fn)(struct pyobjects_run *, const struct pynode *))
{
	const struct census *c = run->c;
	int r = 0;

	for (size_t i = 0; i < run->small.npools && r >= 0; i++)
		if (run->small.pools[i].size)
			r = each_of_pool(run, &run->small.pools[i], fn);
	for (size_t i = 0; i < c->nblocks && r >= 0; i++)
		r = fn(run, &(struct pynode){ run->small.nslots + i, c->blocks[i].addr, c->blocks[i].size });
	return r;
}

static bool find_large(const struct pyobjects_run *run, taddr at, struct pynode *out)
{
	const struct census *c = run->c;
	size_t i;

	if (!c->nblocks || at < c->blocks[0].addr)
		return false;
	i = block_over(c->blocks, c->nblocks, at);
	if (i == c->nblocks)
		return false;
	*out = (struct pynode){ run->small.nslots + i, c->blocks[i].addr, c->blocks[i].size };
	return true;
}

bool pynodes_find(const struct pyobjects_run *run, taddr at, struct pynode *out)
{
	const struct pymalloc_pool *pool;
	size_t slot;

	if (at < SNAPSHOT_PAGE || at >= HIGHEST)
		return false;
	slot = pymalloc_slot(&run->small, at, &pool);
	if (slot == PYMALLOC_NONE)
		return find_large(run, at, out);
	*out = (struct pynode){ slot, pymalloc_address(pool, slot), pool->size };
	return run->small.used[slot];
}

/* The words of [lo, hi) that could be addresses. */
static int words_of(struct pyobjects_run *run, const struct pynode *node, taddr lo, taddr hi,
		    int (*fn)(struct pyobjects_run *, const struct pynode *, taddr, void *), void *ctx)
{
	struct snapshot_cursor *cursor = &run->types.cursor;
	int r = 0;

	for (; lo + 8 <= hi && r >= 0; lo += 8) {
		uint64_t word;

		if (snapshot_cursor_word(cursor, lo, &word) && word >= SNAPSHOT_PAGE && word < HIGHEST)
			r = fn(run, node, word, ctx);
	}
	return r;
}

int pynodes_words(struct pyobjects_run *run, const struct pynode *node,
		  int (*fn)(struct pyobjects_run *, const struct pynode *, taddr, void *), void *ctx)
{
	const uint32_t state = run->state[node->i];
	const taddr end = node->at + node->size;
	const struct pytype *type;
	taddr object;
	int r;

	if (!pynode_is_object(state))
		return state & PYNODE_OWNED ? words_of(run, node, node->at, end, fn, ctx) : 0;
	type = &run->types.all[state];
	object = node->at + type->before;
	r = words_of(run, node, node->at, object - (type->collected ? 16 : 0), fn, ctx);
	if (r >= 0)
		r = words_of(run, node, object + 16,
			     object + pytypes_extent(&run->types, state, object, end - object), fn, ctx);
	return r;
}

/* SPDX-License-Identifier: MIT */
/*
 * walker: see walker.h. The loops are compiled three times, once for each kind of walk, so that they do not
 * test it again and again.
 */
#include "heap/reach/walker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "heap/reach/heuristics.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

typedef uint64_t __attribute__((may_alias)) word_t;

int walker_init(struct walker *w, struct flood *f)
{
	memset(w, 0, sizeof(*w));
	w->f = f;
	w->s = f->s;
	w->blocks = f->ix->blocks;
	w->state = f->state;
	w->stack = calloc(WALKER_STACK, sizeof(*w->stack));
	return w->stack ? 0 : -ENOMEM;
}

void walker_fini(struct walker *w)
{
	w->f->words += w->words;
	headers_add(&w->f->behind, &w->behind);
	free(w->stack);
}

void walker_push(struct walker *w, uint32_t block)
{
	if (!w->spill && w->depth < WALKER_STACK) {
		w->stack[w->depth++] = block;
		return;
	}
	w->spill = true;
	__atomic_fetch_or(&w->state[block], FLOOD_PENDING, __ATOMIC_RELAXED);
	w->pending++;
}

/* Set @bit of @block; true if it was not set before. */
static bool set(struct walker *w, uint32_t block, uint8_t bit)
{
	return !(__atomic_fetch_or(&w->state[block], bit, __ATOMIC_RELAXED) & bit);
}

/* From a reachable block or a root. */
static void mark_strong(struct walker *w, const struct walk_resolved *r, uint8_t state)
{
	const struct block *b = &w->blocks[r->block];
	bool whole = r->start;

	if (state & FLOOD_REACHED)
		return;
	if (!whole) {
		if (!block_holds(b, r->v))
			return;
		whole = r->v == b->addr || headers_has(w->f->headers, r->v - b->addr) ||
			(w->f->census && census_is_inner(w->f->census, r->v)) ||
			(w->f->heuristics && heuristic_holds(w->s, b, r->v, w->f->heuristics, w->f->exact));
	}
	if (!whole && set(w, r->block, FLOOD_HINTED))
		headers_count(&w->behind, r->v - b->addr);
	else if (whole && set(w, r->block, FLOOD_REACHED))
		walker_push(w, r->block);
}

static void mark_any(struct walker *w, const struct walk_resolved *r, uint8_t state)
{
	const struct block *b = &w->blocks[r->block];

	if ((state & FLOOD_NOT_LOST) || !(r->start || block_holds(b, r->v)) ||
	    !set(w, r->block, FLOOD_POSSIBLE))
		return;
	if (!r->start)
		headers_count(&w->behind, r->v - b->addr);
	walker_push(w, r->block);
}

/* A leader to which a pointer leads is not one any more; all that it points to was seen before. */
static void mark_lost(struct walker *w, const struct walk_resolved *r, uint8_t state)
{
	if (state & (FLOOD_NOT_LOST | FLOOD_INDIRECT) || r->block == w->leader)
		return;
	if (!r->start && !block_holds(&w->blocks[r->block], r->v))
		return;
	w->state[r->block] = FLOOD_INDIRECT;
	w->f->leader[r->block] = w->leader;
	if (!state)
		walker_push(w, r->block);
}

ALWAYS_INLINE void mark_next(struct walker *w, enum walk how)
{
	const struct walk_resolved r = w->resolved[w->resolved_head++ % WALKER_QUEUE];
	const uint8_t state = __atomic_load_n(&w->state[r.block], __ATOMIC_RELAXED);

	if (how == WALK_STRONG)
		mark_strong(w, &r, state);
	else if (how == WALK_ANY)
		mark_any(w, &r, state);
	else
		mark_lost(w, &r, state);
}

ALWAYS_INLINE void resolve_next(struct walker *w, enum walk how)
{
	const struct walk_probed *p = &w->probed[w->probed_head++ % WALKER_QUEUE];
	struct walk_resolved r = { p->v, 0, false };

	r.block = block_index_resolve(w->f->ix, p->v, &p->p, &r.start);
	if (r.block == BLOCK_NONE)
		return;
	__builtin_prefetch(&w->state[r.block], 1);
	if (!r.start)
		__builtin_prefetch(&w->blocks[r.block]);
	if (w->resolved_tail - w->resolved_head == WALKER_QUEUE)
		mark_next(w, how);
	w->resolved[w->resolved_tail++ % WALKER_QUEUE] = r;
}

/* Scan @n words at @bytes. */
ALWAYS_INLINE void scan(struct walker *w, const uint8_t *bytes, size_t n, enum walk how)
{
	const word_t *word = (const word_t *)(const void *)bytes;
	const struct block_index *ix = w->f->ix;
	struct block_probe p;

	w->words += n;
	for (size_t i = 0; i < n; i++) {
		if (!block_index_probe(ix, word[i], &p))
			continue;
		__builtin_prefetch(p.word);
		if (w->probed_tail - w->probed_head == WALKER_QUEUE)
			resolve_next(w, how);
		w->probed[w->probed_tail++ % WALKER_QUEUE] = (struct walk_probed){ word[i], p };
	}
}

/* Scan all of a block from @at to @end, piece by piece: where one ends, another may begin. */
static inline void scan_rest(struct walker *w, taddr at, taddr end, enum walk how)
{
	while (at < end) {
		const size_t i = snapshot_piece_from(w->s, at);
		const struct snapshot_piece *p = &w->s->pieces[i];
		uint64_t n;

		if (i == w->s->npieces || p->lo >= end)
			return;
		if (at < p->lo)
			at = (p->lo + 7) & ~UINT64_C(7);
		n = p->lo + p->size < end ? p->lo + p->size : end;
		if (n > at)
			scan(w, p->bytes + (at - p->lo), (n - at) / 8, how);
		at = n > at ? (n + 7) & ~UINT64_C(7) : at + 8;
	}
}

static inline void scan_next(struct walker *w, enum walk how)
{
	const struct walk_placed *p = &w->placed[w->placed_head++ % WALKER_QUEUE];
	const struct block *b = &w->blocks[p->block];
	const taddr at = (b->addr + 7) & ~UINT64_C(7), end = b->addr + b->size;

	if (p->n >= end - at)
		scan(w, p->bytes, (end - at) / 8, how);
	else
		scan_rest(w, at, end, how);
}

static inline void place_next(struct walker *w, enum walk how)
{
	struct walk_placed p = { .block = w->popped[w->popped_head++ % WALKER_QUEUE] };
	const struct block *b = &w->blocks[p.block];

	if (((b->addr + 7) & ~UINT64_C(7)) >= b->addr + b->size)
		return;
	p.bytes = snapshot_bytes(w->s, (b->addr + 7) & ~UINT64_C(7), &p.n);
	if (p.bytes) {
		__builtin_prefetch(p.bytes);
		__builtin_prefetch(p.bytes + 64);
	}
	if (w->placed_tail - w->placed_head == WALKER_QUEUE)
		scan_next(w, how);
	w->placed[w->placed_tail++ % WALKER_QUEUE] = p;
}

static inline void place(struct walker *w, uint32_t block, enum walk how)
{
	if (w->popped_tail - w->popped_head == WALKER_QUEUE)
		place_next(w, how);
	__builtin_prefetch(&w->blocks[block]);
	w->popped[w->popped_tail++ % WALKER_QUEUE] = block;
}

/* One step of the first queue that is not empty; false: all are empty. */
static inline bool step(struct walker *w, enum walk how)
{
	if (w->depth)
		place(w, w->stack[--w->depth], how);
	else if (w->probed_head != w->probed_tail)
		resolve_next(w, how);
	else if (w->resolved_head != w->resolved_tail)
		mark_next(w, how);
	else if (w->popped_head != w->popped_tail)
		place_next(w, how);
	else if (w->placed_head != w->placed_tail)
		scan_next(w, how);
	else
		return false;
	return true;
}

ALWAYS_INLINE void flow_in(struct walker *w, enum walk how)
{
	while (step(w, how))
		;
}

void walker_flow(struct walker *w, enum walk how)
{
	if (how == WALK_STRONG)
		flow_in(w, WALK_STRONG);
	else if (how == WALK_ANY)
		flow_in(w, WALK_ANY);
	else
		flow_in(w, WALK_LOST);
}

ALWAYS_INLINE void sweep_in(struct walker *w, size_t from, size_t to, enum walk how)
{
	const uint64_t each = 0x0101010101010101u * FLOOD_PENDING;

	for (size_t i = from; i < to; i++) {
		if (i % 8 == 0 && i + 8 <= to &&
		    !(__atomic_load_n((word_t *)(void *)(w->state + i), __ATOMIC_RELAXED) & each)) {
			i += 7;
			continue;
		}
		if (!(__atomic_load_n(&w->state[i], __ATOMIC_RELAXED) & FLOOD_PENDING))
			continue;
		__atomic_fetch_and(&w->state[i], (uint8_t)~FLOOD_PENDING, __ATOMIC_RELAXED);
		w->pending--;
		place(w, (uint32_t)i, how);
	}
	flow_in(w, how);
}

void walker_sweep(struct walker *w, size_t from, size_t to, enum walk how)
{
	w->spill = true;
	if (how == WALK_STRONG)
		sweep_in(w, from, to, WALK_STRONG);
	else if (how == WALK_ANY)
		sweep_in(w, from, to, WALK_ANY);
	else
		sweep_in(w, from, to, WALK_LOST);
}

void walker_gather(struct walker *w)
{
	w->spill = false;
	for (size_t i = 0; i < w->f->ix->n && w->pending; i++)
		if (w->state[i] & FLOOD_PENDING) {
			w->state[i] &= (uint8_t)~FLOOD_PENDING;
			w->pending--;
			w->stack[w->depth++] = (uint32_t)i;
		}
}

void walker_scan(struct walker *w, const void *bytes, size_t n, enum walk how)
{
	if (how == WALK_STRONG)
		scan(w, bytes, n, WALK_STRONG);
	else if (how == WALK_ANY)
		scan(w, bytes, n, WALK_ANY);
	else
		scan(w, bytes, n, WALK_LOST);
}

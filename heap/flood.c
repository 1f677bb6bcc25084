/* SPDX-License-Identifier: MIT */
/* flood: see flood.h, for the queues as well. */
#include "heap/flood.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "heap/heuristics.h"

#define QUEUE 32u		/* steps that wait for their line: more than the processor can have under way */

typedef uint64_t __attribute__((may_alias)) word_t;

enum mode { STRONG, ANY, LOST };

struct probed {
	taddr v;
	struct block_probe p;
};

struct resolved {
	taddr v;
	uint32_t block;
	bool start;
};

struct placed {
	const uint8_t *bytes;
	uint64_t n;
	uint32_t block;
};

/* Queues: `head` is taken next, at most QUEUE before `tail`. */
struct walker {
	struct flood *f;
	const struct snapshot *s;
	const struct block *blocks;
	uint8_t *state;
	uint32_t leader;		/* LOST: whose clique it is */
	uint32_t *stack;		/* room for all blocks, of which only what is used takes memory */
	size_t depth, deepest;
	uint64_t words;
	struct probed probed[QUEUE];
	struct resolved resolved[QUEUE];
	uint32_t popped[QUEUE];
	struct placed placed[QUEUE];
	unsigned probed_head, probed_tail, resolved_head, resolved_tail, popped_head, popped_tail, placed_head, placed_tail;
};

static int walker_init(struct walker *w, struct flood *f)
{
	memset(w, 0, sizeof(*w));
	w->f = f;
	w->s = f->s;
	w->blocks = f->ix->blocks;
	w->state = f->state;
	w->stack = mmap(NULL, (f->ix->n + 1) * sizeof(*w->stack), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (w->stack == MAP_FAILED) {
		w->stack = NULL;
		return -ENOMEM;
	}
	return 0;
}

static void walker_fini(struct walker *w)
{
	w->f->words += w->words;
	w->f->memory += w->deepest * sizeof(*w->stack);
	munmap(w->stack, (w->f->ix->n + 1) * sizeof(*w->stack));
}

static void push(struct walker *w, uint32_t block)
{
	w->stack[w->depth++] = block;
	if (w->depth > w->deepest)
		w->deepest = w->depth;
}

/* Set @bit of @block; was it new? */
static bool set(struct walker *w, uint32_t block, uint8_t bit)
{
	return !(__atomic_fetch_or(&w->state[block], bit, __ATOMIC_RELAXED) & bit);
}

/* From something reachable. */
static void mark_strong(struct walker *w, const struct resolved *r, uint8_t state)
{
	const struct block *b = &w->blocks[r->block];
	bool whole = r->start;

	if (state & FLOOD_REACHED)
		return;
	if (!whole) {
		if (!block_holds(b, r->v))
			return;
		whole = r->v == b->addr || (w->f->heuristics && heuristic_holds(w->s, b, r->v, w->f->heuristics, w->f->exact));
	}
	if (!whole)
		set(w, r->block, FLOOD_HINTED);
	else if (set(w, r->block, FLOOD_REACHED))
		push(w, r->block);
}

static void mark_any(struct walker *w, const struct resolved *r, uint8_t state)
{
	if (!(state & FLOOD_NOT_LOST) && (r->start || block_holds(&w->blocks[r->block], r->v)) && set(w, r->block, FLOOD_POSSIBLE))
		push(w, r->block);
}

/* A leader that is pointed to is none any more; all that it points to has been seen. */
static void mark_lost(struct walker *w, const struct resolved *r, uint8_t state)
{
	if (state & (FLOOD_NOT_LOST | FLOOD_INDIRECT) || r->block == w->leader)
		return;
	if (!r->start && !block_holds(&w->blocks[r->block], r->v))
		return;
	w->state[r->block] = FLOOD_INDIRECT;
	w->f->leader[r->block] = w->leader;
	if (!state)
		push(w, r->block);
}

static inline void mark_next(struct walker *w, enum mode mode)
{
	const struct resolved r = w->resolved[w->resolved_head++ % QUEUE];
	const uint8_t state = __atomic_load_n(&w->state[r.block], __ATOMIC_RELAXED);

	if (mode == STRONG)
		mark_strong(w, &r, state);
	else if (mode == ANY)
		mark_any(w, &r, state);
	else
		mark_lost(w, &r, state);
}

static inline void resolve_next(struct walker *w, enum mode mode)
{
	const struct probed *p = &w->probed[w->probed_head++ % QUEUE];
	struct resolved r = { p->v, 0, false };

	r.block = block_index_resolve(w->f->ix, p->v, &p->p, &r.start);
	if (r.block == BLOCK_NONE)
		return;
	__builtin_prefetch(&w->state[r.block], 1);
	if (!r.start)
		__builtin_prefetch(&w->blocks[r.block]);
	if (w->resolved_tail - w->resolved_head == QUEUE)
		mark_next(w, mode);
	w->resolved[w->resolved_tail++ % QUEUE] = r;
}

/* @n words at @bytes. */
static inline void scan(struct walker *w, const uint8_t *bytes, size_t n, enum mode mode)
{
	const word_t *word = (const word_t *)(const void *)bytes;
	const struct block_index *ix = w->f->ix;
	struct block_probe p;

	w->words += n;
	for (size_t i = 0; i < n; i++) {
		if (!block_index_probe(ix, word[i], &p))
			continue;
		__builtin_prefetch(p.word);
		if (w->probed_tail - w->probed_head == QUEUE)
			resolve_next(w, mode);
		w->probed[w->probed_tail++ % QUEUE] = (struct probed){ word[i], p };
	}
}

/* All of block @block from @at on, piece by piece: where one ends, another may begin at once. */
static inline void scan_rest(struct walker *w, taddr at, taddr end, enum mode mode)
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
			scan(w, p->bytes + (at - p->lo), (n - at) / 8, mode);
		at = n > at ? (n + 7) & ~UINT64_C(7) : at + 8;
	}
}

static inline void scan_next(struct walker *w, enum mode mode)
{
	const struct placed *p = &w->placed[w->placed_head++ % QUEUE];
	const struct block *b = &w->blocks[p->block];
	const taddr at = (b->addr + 7) & ~UINT64_C(7), end = b->addr + b->size;

	if (p->n >= end - at)
		scan(w, p->bytes, (end - at) / 8, mode);
	else
		scan_rest(w, at, end, mode);
}

static inline void place_next(struct walker *w, enum mode mode)
{
	struct placed p = { .block = w->popped[w->popped_head++ % QUEUE] };
	const struct block *b = &w->blocks[p.block];

	if (((b->addr + 7) & ~UINT64_C(7)) >= b->addr + b->size)
		return;
	p.bytes = snapshot_bytes(w->s, (b->addr + 7) & ~UINT64_C(7), &p.n);
	if (p.bytes) {
		__builtin_prefetch(p.bytes);
		__builtin_prefetch(p.bytes + 64);
	}
	if (w->placed_tail - w->placed_head == QUEUE)
		scan_next(w, mode);
	w->placed[w->placed_tail++ % QUEUE] = p;
}

/* One step of the foremost queue that has something; false: all are empty. */
static inline bool step(struct walker *w, enum mode mode)
{
	while (w->depth && w->popped_tail - w->popped_head < QUEUE) {
		const uint32_t block = w->stack[--w->depth];

		__builtin_prefetch(&w->blocks[block]);
		w->popped[w->popped_tail++ % QUEUE] = block;
	}
	if (w->popped_tail - w->popped_head == QUEUE)
		place_next(w, mode);
	else if (w->probed_head != w->probed_tail)
		resolve_next(w, mode);
	else if (w->resolved_head != w->resolved_tail)
		mark_next(w, mode);
	else if (w->popped_head != w->popped_tail)
		place_next(w, mode);
	else if (w->placed_head != w->placed_tail)
		scan_next(w, mode);
	else
		return false;
	return true;
}

static void flow_strong(struct walker *w)
{
	while (step(w, STRONG))
		;
}

static void flow_any(struct walker *w)
{
	while (step(w, ANY))
		;
}

static void flow_lost(struct walker *w)
{
	while (step(w, LOST))
		;
}

/* Registers have no place in memory: their words are ours. */
static void scan_registers(struct walker *w, const struct snapshot_thread *t)
{
	uint64_t regs[ROOT_REGISTERS];
	uint64_t vector;

	if (!t->known)
		return;
	root_registers(t, regs);
	scan(w, (const uint8_t *)regs, ROOT_REGISTERS, STRONG);
	for (size_t at = 0; t->vectors && at + sizeof(vector) <= t->nvectors; at += sizeof(vector)) {
		memcpy(&vector, t->vectors + at, sizeof(vector));
		scan(w, (const uint8_t *)&vector, 1, STRONG);
	}
}

static void from_roots(struct walker *w, struct roots *roots)
{
	struct root r;

	for (size_t i = 0; i < w->s->nthreads; i++)
		scan_registers(w, &w->s->threads[i]);
	while (roots_next(roots, &r)) {
		scan(w, r.bytes, r.size / 8, STRONG);
		flow_strong(w);
	}
	flow_strong(w);
}

static void from_hinted(struct walker *w)
{
	for (size_t i = 0; i < w->f->ix->n; i++)
		if ((w->state[i] & FLOOD_NOT_LOST) == FLOOD_HINTED) {
			push(w, (uint32_t)i);
			flow_any(w);
		}
}

int flood_run(struct flood *f, struct roots *roots, unsigned threads)
{
	struct walker w;

	(void)threads;
	if (walker_init(&w, f) < 0)
		return -ENOMEM;
	from_roots(&w, roots);
	from_hinted(&w);
	walker_fini(&w);
	return 0;
}

int flood_lost(struct flood *f)
{
	struct walker w;

	if (walker_init(&w, f) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->ix->n; i++) {
		if (f->state[i])
			continue;
		f->state[i] = FLOOD_LEADER;
		f->leader[i] = w.leader = i;
		push(&w, i);
		flow_lost(&w);
	}
	walker_fini(&w);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * flood: see flood.h, for the queues as well.
 *
 * What has been found and is to be read stands on a stack, which is followed like a thread through a maze. But where there is much of it, memory
 * is not read in the order in which it was found: it is only marked as pending, and then all that is pending is read in the order of
 * addresses, in sweeps, until little is left. That took half of the time away: contents and places of blocks come in their order, where each was
 * a page that the processor had to look up. Several threads share a sweep; a flood that is narrow is one's own.
 */
#include "heap/flood.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "heap/heuristics.h"

#define QUEUE 32u		/* steps that wait for their line: more than the processor can have under way */
#define STACK_MAX (1u << 16)
#define FEW (STACK_MAX / 2)
#define CHUNK (1u << 15)	/* blocks of a sweep that a thread takes at once */
#define THREADS_MAX 4u
#define WORTH_THREADS 200000u	/* blocks */

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
	bool spill;			/* what is found is marked as pending, not pushed */
	uint32_t *stack;
	size_t depth;
	int64_t pending;		/* marked, less taken, by this one: only the sum over all walkers means something */
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
	w->stack = calloc(STACK_MAX, sizeof(*w->stack));
	return w->stack ? 0 : -ENOMEM;
}

static void walker_fini(struct walker *w)
{
	w->f->words += w->words;
	free(w->stack);
}

/* It was marked just now, by this one: it is to be read. */
static void push(struct walker *w, uint32_t block)
{
	if (!w->spill && w->depth < STACK_MAX) {
		w->stack[w->depth++] = block;
		return;
	}
	w->spill = true;
	__atomic_fetch_or(&w->state[block], FLOOD_PENDING, __ATOMIC_RELAXED);
	w->pending++;
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

static inline __attribute__((always_inline)) void mark_next(struct walker *w, enum mode mode)
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

static inline __attribute__((always_inline)) void resolve_next(struct walker *w, enum mode mode)
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
static inline __attribute__((always_inline)) void scan(struct walker *w, const uint8_t *bytes, size_t n, enum mode mode)
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

static inline void place(struct walker *w, uint32_t block, enum mode mode)
{
	if (w->popped_tail - w->popped_head == QUEUE)
		place_next(w, mode);
	__builtin_prefetch(&w->blocks[block]);
	w->popped[w->popped_tail++ % QUEUE] = block;
}

/* One step of the foremost queue that has something; false: all are empty. */
static inline bool step(struct walker *w, enum mode mode)
{
	if (w->depth)
		place(w, w->stack[--w->depth], mode);
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

static inline __attribute__((always_inline)) void flow_in(struct walker *w, enum mode mode)
{
	while (step(w, mode))
		;
}

/* Until the stack and all queues are empty. */
static void flow(struct walker *w, enum mode mode)
{
	if (mode == STRONG)
		flow_in(w, STRONG);
	else if (mode == ANY)
		flow_in(w, ANY);
	else
		flow_in(w, LOST);
}

static inline __attribute__((always_inline)) void sweep_in(struct walker *w, size_t from, size_t to, enum mode mode)
{
	const uint64_t each = 0x0101010101010101u * FLOOD_PENDING;

	for (size_t i = from; i < to; i++) {
		if (i % 8 == 0 && i + 8 <= to && !(__atomic_load_n((word_t *)(void *)(w->state + i), __ATOMIC_RELAXED) & each)) {
			i += 7;
			continue;
		}
		if (!(__atomic_load_n(&w->state[i], __ATOMIC_RELAXED) & FLOOD_PENDING))
			continue;
		__atomic_fetch_and(&w->state[i], (uint8_t)~FLOOD_PENDING, __ATOMIC_RELAXED);
		w->pending--;
		place(w, (uint32_t)i, mode);
	}
	flow_in(w, mode);
}

/* Read all that is pending in [from, to), in the order of addresses; what it points to becomes pending. */
static void sweep(struct walker *w, size_t from, size_t to, enum mode mode)
{
	w->spill = true;
	if (mode == STRONG)
		sweep_in(w, from, to, STRONG);
	else if (mode == ANY)
		sweep_in(w, from, to, ANY);
	else
		sweep_in(w, from, to, LOST);
}

/* All that is pending, few as they are, onto the stack. */
static void gather(struct walker *w)
{
	w->spill = false;
	for (size_t i = 0; i < w->f->ix->n && w->pending; i++)
		if (w->state[i] & FLOOD_PENDING) {
			w->state[i] &= (uint8_t)~FLOOD_PENDING;
			w->pending--;
			w->stack[w->depth++] = (uint32_t)i;
		}
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

/* --- several threads --- */

/* Work that all do together, each taking the next piece until there is none. */
struct team {
	struct flood *f;
	struct walker *walkers;
	unsigned n;
	struct roots *roots;		/* the work: roots if not NULL, else a sweep */
	enum mode mode;
	size_t next;			/* of the sweep */
	pthread_mutex_t lock;		/* of the roots */
};

struct member {
	struct team *team;
	struct walker *w;
	pthread_t thread;
	bool started;
};

static bool next_root(struct team *t, struct root *out)
{
	bool got;

	pthread_mutex_lock(&t->lock);
	got = roots_next(t->roots, out);
	pthread_mutex_unlock(&t->lock);
	return got;
}

static void work(struct team *t, struct walker *w)
{
	const size_t n = t->f->ix->n;
	struct root r;
	size_t from;

	if (t->roots) {
		w->spill = true;
		while (next_root(t, &r))
			scan(w, r.bytes, r.size / 8, STRONG);
		flow(w, STRONG);
		return;
	}
	while ((from = __atomic_fetch_add(&t->next, CHUNK, __ATOMIC_RELAXED)) < n)
		sweep(w, from, from + CHUNK < n ? from + CHUNK : n, t->mode);
}

static void *work_of(void *arg)
{
	struct member *m = arg;

	work(m->team, m->w);
	return NULL;
}

/* Those that cannot be started are missed by nobody: the first one is ourselves. */
static void work_together(struct team *t)
{
	struct member members[THREADS_MAX] = { 0 };

	t->next = 0;
	for (unsigned i = 1; i < t->n; i++) {
		members[i] = (struct member){ .team = t, .w = &t->walkers[i] };
		members[i].started = pthread_create(&members[i].thread, NULL, work_of, &members[i]) == 0;
	}
	work(t, &t->walkers[0]);
	for (unsigned i = 1; i < t->n; i++)
		if (members[i].started)
			pthread_join(members[i].thread, NULL);
}

/* Marked by one thread and taken by another: only the sum counts, and from here on it is the first one's. */
static int64_t all_pending(struct team *t)
{
	for (unsigned i = 1; i < t->n; i++) {
		t->walkers[0].pending += t->walkers[i].pending;
		t->walkers[i].pending = 0;
	}
	return t->walkers[0].pending;
}

/* Until nothing is left to be read. */
static void finish(struct team *t, enum mode mode)
{
	t->roots = NULL;
	t->mode = mode;
	for (;;) {
		const int64_t pending = all_pending(t);

		if (pending > FEW) {
			work_together(t);
			continue;
		}
		if (!pending)
			break;
		gather(&t->walkers[0]);
		flow(&t->walkers[0], mode);
	}
	t->walkers[0].spill = false;
}

static void from_roots(struct team *t, struct roots *roots)
{
	struct walker *w = &t->walkers[0];

	for (size_t i = 0; i < w->s->nthreads; i++)
		scan_registers(w, &w->s->threads[i]);
	flow(w, STRONG);
	t->roots = roots;
	work_together(t);
	finish(t, STRONG);
}

static void from_hinted(struct team *t)
{
	struct walker *w = &t->walkers[0];

	for (size_t i = 0; i < w->f->ix->n; i++)
		if ((w->state[i] & FLOOD_NOT_LOST) == FLOOD_HINTED) {
			w->state[i] |= FLOOD_PENDING;
			w->pending++;
		}
	finish(t, ANY);
}

static int team_init(struct team *t, struct flood *f, unsigned n)
{
	memset(t, 0, sizeof(*t));
	t->f = f;
	pthread_mutex_init(&t->lock, NULL);
	t->walkers = calloc(n, sizeof(*t->walkers));
	if (!t->walkers)
		return -ENOMEM;
	while (t->n < n && walker_init(&t->walkers[t->n], f) == 0)
		t->n++;
	f->memory += t->n * (sizeof(*t->walkers) + STACK_MAX * sizeof(uint32_t));
	return t->n ? 0 : -ENOMEM;
}

static void team_fini(struct team *t)
{
	for (unsigned i = 0; i < t->n; i++)
		walker_fini(&t->walkers[i]);
	free(t->walkers);
	pthread_mutex_destroy(&t->lock);
}

/* Half of the processors are left to the target, which goes on meanwhile. */
static unsigned how_many(unsigned wanted, size_t nblocks)
{
	const long half = sysconf(_SC_NPROCESSORS_ONLN) / 2;

	if (!wanted)
		wanted = nblocks < WORTH_THREADS || half < 1 ? 1 : (unsigned)half;
	return wanted < THREADS_MAX ? wanted : THREADS_MAX;
}

int flood_run(struct flood *f, struct roots *roots, unsigned threads)
{
	struct team t;
	int err = team_init(&t, f, how_many(threads, f->ix->n));

	if (!err) {
		from_roots(&t, roots);
		from_hinted(&t);
	}
	team_fini(&t);
	return err;
}

/* One clique after the other: which block leads depends on the order. */
int flood_lost(struct flood *f)
{
	struct team t;
	int err = team_init(&t, f, 1);

	for (uint32_t i = 0; i < f->ix->n && !err; i++) {
		if (f->state[i])
			continue;
		f->state[i] = FLOOD_LEADER;
		f->leader[i] = t.walkers[0].leader = i;
		t.walkers[0].stack[t.walkers[0].depth++] = i;
		flow(&t.walkers[0], LOST);
		finish(&t, LOST);
	}
	team_fini(&t);
	return err;
}

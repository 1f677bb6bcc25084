/* SPDX-License-Identifier: MIT */
/*
 * threadstacks: see threadstacks.h. What is used of glibc's struct pthread on x86-64 is the same in all
 * versions since 2.3 (the head is fixed for compilers and debuggers): its own address in words 0 and 2, the
 * DTV's in word 1, a list_t at 0x2c0, and the kernel's tid at 0x2d0, which the kernel clears when the thread
 * ends; -1 there: joined. stackblock, stackblock_size and guardsize are adjacent, and searched for. Since
 * 2.34, the heads of the lists of used, user and cached stacks are adjacent, in this order, in the loader's
 * data; before, they are somewhere in libpthread's.
 */
#include "heap/threadstacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr_search.h"
#include "base/grow.h"

#define RED_ZONE 128u
#define PTHREAD_DTV 8u
#define PTHREAD_LIST 0x2c0u
#define PTHREAD_TID 0x2d0u
#define PTHREAD_WORDS (0xa00u / 8)	/* no version has more */
#define TOP_MAX 0x3000u			/* from the struct to the end of its stack: the struct and padding */
#define THREADS_MAX 200000u		/* in one ring */
#define TRIES 8u			/* rings that are walked: a broken one is so for all its threads */
#define MODULES_MAX 4096u		/* in a DTV */
#define TLS_MAX (64u << 20)
#define HEADS_BEFORE 0x8000u		/* bytes of data around a known head that may contain others */

static int add_dead(struct threadstacks *st, taddr lo, taddr hi)
{
	if (lo >= hi)
		return 0;
	if (grow_for(&st->dead, st->ndead, &st->dead_room, sizeof(*st->dead)) < 0)
		return -ENOMEM;
	st->dead[st->ndead++] = (struct snapshot_range){ lo, hi };
	return 0;
}

static int add_stack(struct threadstacks *st, const struct stack *s)
{
	if (grow_for(&st->all, st->n, &st->room, sizeof(*st->all)) < 0)
		return -ENOMEM;
	st->all[st->n++] = *s;
	return 0;
}

static uint64_t word_at(const struct snapshot *s, taddr at)
{
	uint64_t w;

	return snapshot_word(s, at, &w) == 0 ? w : 0;
}

static bool is_pthread(const struct snapshot *s, taddr at)
{
	return at && at % 16 == 0 && word_at(s, at) == at && word_at(s, at + 16) == at;
}

/* The thread id that the kernel has set or cleared; INT32_MIN if it cannot be read. */
static int32_t tid_of(const struct snapshot *s, taddr pthread)
{
	int32_t tid;

	return snapshot_read(s, pthread + PTHREAD_TID, &tid, sizeof(tid)) == 0 ? tid : INT32_MIN;
}

/* Do these three words describe the stack that has the struct at @pthread at its top? */
static bool is_extent(taddr pthread, const uint64_t w[3])
{
	const uint64_t lo = w[0], size = w[1], guard = w[2];

	return lo && lo % 16 == 0 && lo < pthread && size <= UINT64_MAX - lo && lo + size > pthread &&
	       lo + size - pthread <= TOP_MAX && guard % SNAPSHOT_PAGE == 0 && guard < size &&
	       lo + guard < pthread;
}

/* The stack by its struct pthread; false: the struct has none, as the main thread's. */
static bool find_extent(const struct snapshot *s, taddr pthread, struct stack *out)
{
	uint64_t w[PTHREAD_WORDS];
	size_t n = PTHREAD_WORDS;

	while (n > 3 && snapshot_read(s, pthread, w, n * sizeof(*w)) < 0)
		n--;	/* the mapping may end earlier */
	for (size_t i = PTHREAD_TID / 8; i + 3 <= n; i++)
		if (is_extent(pthread, w + i)) {
			*out = (struct stack){ .lo = w[i] + w[i + 2], .hi = w[i] + w[i + 1],
					       .pthread = pthread, .self = pthread };
			return true;
		}
	return false;
}

/* --- positions of living threads --- */

struct mark {
	taddr at;
};

/*
 * Each list is sorted: there may be tens of thousands of threads, and for each one, others on its stack are
 * searched.
 */
struct places {
	/* sp of all threads; sp of those that are not known, or ran; fs_base of those that are known */
	struct mark *sps, *doubtful, *bases;
	size_t nsps, ndoubtful, nbases;
};

static int by_place(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

static int places_init(struct places *p, const struct snapshot *s)
{
	*p = (struct places){ .sps = calloc(3 * s->nthreads + 1, sizeof(*p->sps)) };
	if (!p->sps)
		return -ENOMEM;
	p->doubtful = p->sps + s->nthreads;
	p->bases = p->doubtful + s->nthreads;
	for (size_t i = 0; i < s->nthreads; i++) {
		const struct snapshot_thread *t = &s->threads[i];

		p->sps[p->nsps++].at = t->sp;
		if (!t->known || t->running)
			p->doubtful[p->ndoubtful++].at = t->sp;
		if (t->known)
			p->bases[p->nbases++].at = t->regs.fs_base;
	}
	qsort(p->sps, p->nsps, sizeof(*p->sps), by_place);
	qsort(p->doubtful, p->ndoubtful, sizeof(*p->doubtful), by_place);
	qsort(p->bases, p->nbases, sizeof(*p->bases), by_place);
	return 0;
}

static void places_fini(struct places *p)
{
	free(p->sps);
}

/* The first one at or above @at. */
static size_t first_from(const struct mark *all, size_t n, taddr at)
{
	return at ? ADDR_SEARCH(all, n, at, at - 1) : 0;
}

static bool any_within(const struct mark *all, size_t n, taddr lo, taddr hi)
{
	const size_t i = first_from(all, n, lo);

	return i < n && all[i].at < hi;
}

/* --- living threads --- */

/* The lowest sp of all threads on this stack; 0: one of them is not known well enough, or there is none. */
static taddr lowest_sp(const struct places *p, taddr lo, taddr hi)
{
	const size_t i = first_from(p->sps, p->nsps, lo);

	if (any_within(p->doubtful, p->ndoubtful, lo, hi))
		return 0;
	return i < p->nsps && p->sps[i].at < hi ? p->sps[i].at : 0;
}

/* The main thread's stack from the kernel: it grows down to the beginning of the mapping. */
static bool main_stack(const struct snapshot *s, const struct snapshot_thread *t, struct stack *out)
{
	const struct mapping *m = procmaps_find(&s->maps, t->sp);

	if (t->tid != s->pid || !m || strcmp(m->path, "[stack]") != 0)
		return false;
	*out = (struct stack){ .lo = m->lo, .hi = m->hi };
	return true;
}

static bool pthread_stack(const struct snapshot *s, const struct snapshot_thread *t, struct stack *out)
{
	const taddr p = t->regs.fs_base;

	return is_pthread(s, p) && find_extent(s, p, out) && t->sp >= out->lo && t->sp < p;
}

/*
 * The DTV has the addresses, 16 bytes for each module, and in the word before the first one the number of
 * modules.
 */
taddr threadstacks_tls(const struct snapshot *s, taddr pthread, taddr least)
{
	const taddr dtv = word_at(s, pthread + PTHREAD_DTV);
	const uint64_t n = word_at(s, dtv - 16);
	taddr lowest = pthread;

	if (!is_pthread(s, pthread))
		return pthread;
	for (uint64_t i = 1; i <= n && i <= MODULES_MAX; i++) {
		const taddr at = word_at(s, dtv + 16 * i);

		if (at < lowest && at >= least)
			lowest = at;
	}
	return lowest;
}

static void find_tls(const struct snapshot *s, taddr pthread, struct stack *out)
{
	const bool on_stack = out->pthread == pthread;

	if (!is_pthread(s, pthread))
		return;
	out->self = pthread;
	out->tls = threadstacks_tls(s, pthread, on_stack ? out->lo + 1 : pthread - TLS_MAX);
	out->tls_end = pthread + PTHREAD_WORDS * 8;
	if (on_stack && out->tls_end > out->hi)
		out->tls_end = out->hi;
}

static int add_living(struct threadstacks *st, const struct snapshot *s, const struct places *p,
		      const struct snapshot_thread *t)
{
	struct stack k;
	taddr lowest, zone;

	if (!t->known || t->running) {
		st->unknown++;
		return 0;
	}
	if (!main_stack(s, t, &k) && !pthread_stack(s, t, &k)) {
		st->elsewhere++;
		k = (struct stack){ 0 };
	}
	k.tid = t->tid;
	k.sp = t->sp;
	find_tls(s, t->regs.fs_base, &k);
	if (add_stack(st, &k) < 0)
		return -ENOMEM;
	lowest = lowest_sp(p, k.lo, k.hi);
	zone = t->in_call && lowest == t->sp ? 0 : RED_ZONE;
	return lowest > zone ? add_dead(st, k.lo, lowest - zone) : 0;
}

/* --- threads that have ended --- */

/* What a ring of list_t's contains. */
struct ring {
	taddr head;		/* the one that is in no struct pthread */
	size_t threads, living, joined;
};

/*
 * Walk once around the ring from the list_t at @start. All but one must be in a struct pthread, and the links
 * of neighbours must agree. true: they do.
 */
static bool walk_ring(const struct snapshot *s, taddr start, struct ring *ring)
{
	taddr at = start;

	*ring = (struct ring){ 0 };
	for (size_t i = 0; i < THREADS_MAX; i++) {
		const taddr next = word_at(s, at);
		const int32_t tid = tid_of(s, at - PTHREAD_LIST);

		if (!next || word_at(s, next + 8) != at)
			return false;
		if (!is_pthread(s, at - PTHREAD_LIST)) {
			if (ring->head)
				return false;
			ring->head = at;
		} else {
			ring->threads++;
			ring->living += tid > 0;
			ring->joined += tid == -1;
		}
		if (next == start)
			return ring->head;
		at = next;
	}
	return false;
}

static bool is_living(const struct places *p, taddr pthread)
{
	return any_within(p->bases, p->nbases, pthread, pthread + 1);
}

/* @cached: the thread was joined, or cannot be. Otherwise its struct has the result for pthread_join. */
static int add_ended(struct threadstacks *st, const struct snapshot *s, const struct places *p, taddr pthread,
		     bool cached)
{
	struct stack k;
	int err;

	if (tid_of(s, pthread) > 0 || is_living(p, pthread))
		return 0;
	if (!find_extent(s, pthread, &k)) {
		st->main_ended = true;
		return add_stack(st, &(struct stack){ .self = pthread });
	}
	if (any_within(p->sps, p->nsps, k.lo, k.hi))
		return 0;
	st->ended++;
	err = add_stack(st, &k);
	if (!err)
		err = add_dead(st, k.lo, cached ? pthread + PTHREAD_DTV : pthread);
	if (!err && cached)
		err = add_dead(st, pthread + PTHREAD_DTV + 8, k.hi);
	return err;
}

static int add_ring(struct threadstacks *st, const struct snapshot *s, const struct places *p,
		    const struct ring *ring, bool cached)
{
	taddr at = word_at(s, ring->head);
	int err = 0;

	for (size_t i = 0; i < ring->threads && !err; i++, at = word_at(s, at))
		err = add_ended(st, s, p, at - PTHREAD_LIST, cached);
	return err;
}

/* The ring of a living thread: the main thread's (of user stacks), or that of the stacks in use. */
static bool known_ring(const struct snapshot *s, bool of_main, struct ring *out)
{
	unsigned tried = 0;

	for (size_t i = 0; i < s->nthreads && tried < TRIES; i++) {
		const struct snapshot_thread *t = &s->threads[i];

		if (!t->known || (t->tid != s->pid && of_main) || !is_pthread(s, t->regs.fs_base))
			continue;
		if (walk_ring(s, t->regs.fs_base + PTHREAD_LIST, out))
			return true;
		tried++;
	}
	return false;
}

static bool seems_glibc(const struct snapshot *s)
{
	for (size_t i = 0; i < s->nthreads; i++)
		if (s->threads[i].known && is_pthread(s, s->threads[i].regs.fs_base))
			return true;
	return false;
}

/*
 * Find all heads of rings near a known one. A ring without a living and without a joined thread may be the
 * cache (of detached ones) or those that wait to be joined; only its place shows which: after the head of the
 * user stacks it is the cache.
 */
static int add_rings(struct threadstacks *st, const struct snapshot *s, const struct places *p, taddr head,
		     bool users)
{
	const taddr from = head > HEADS_BEFORE ? (head - HEADS_BEFORE) & ~UINT64_C(7) : 8;
	int err = 0;

	for (taddr at = from; at < head + HEADS_BEFORE && !err; at += 8) {
		const taddr next = word_at(s, at);
		struct ring ring;

		if (!next || next == at || word_at(s, next + 8) != at || !is_pthread(s, next - PTHREAD_LIST))
			continue;
		if (!walk_ring(s, at, &ring) || ring.head != at)
			continue;
		err = add_ring(st, s, p, &ring, !ring.living && (ring.joined || (users && at == head + 16)));
	}
	return err;
}

static int find_ended(struct threadstacks *st, const struct snapshot *s, const struct places *p)
{
	struct ring ring;

	if (known_ring(s, true, &ring))
		return add_rings(st, s, p, ring.head, true);
	if (known_ring(s, false, &ring))
		return add_rings(st, s, p, ring.head, false);
	st->unsure = seems_glibc(s);
	return 0;
}

int threadstacks_find(struct threadstacks *st, const struct snapshot *s)
{
	struct places p;
	int err = places_init(&p, s);

	memset(st, 0, sizeof(*st));
	for (size_t i = 0; i < s->nthreads && !err; i++)
		err = add_living(st, s, &p, &s->threads[i]);
	if (!err)
		err = find_ended(st, s, &p);
	places_fini(&p);
	if (err)
		threadstacks_fini(st);
	return err;
}

void threadstacks_fini(struct threadstacks *st)
{
	free(st->all);
	free(st->dead);
	memset(st, 0, sizeof(*st));
}

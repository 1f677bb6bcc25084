/* SPDX-License-Identifier: MIT */
/*
 * jemalloc_caches: what threads have in their caches: see jemalloc.h.
 *
 * A cache is in a thread's static TLS, below its struct pthread; one that a program has made itself is in a
 * block. It is recognised by pointers to itself:
 *
 *	5.3	tcache_t: [slow] [bins ...]; tcache_slow_t: [ring] [ring, bins] [arena] ... [stacks] [cache]
 *	5.2	tcache_t: ... [bins ...] [ring] ... [ring, small, large] [arena] ... [bins ...]
 *
 * The ring leads to the caches of the same arena, also of threads whose TLS is not known. The stacks are blocks
 * of jemalloc's own; what is in them above (5.3) or below (5.2) the end of a bin is in the cache.
 */
#include "heap/jemalloc/jemalloc.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "heap/jemalloc/jemalloc_cache.h"
#include "heap/registers.h"

#define CACHES_MOST 100000u
#define BINS_MOST 232u
#define SLOTS_MOST 8192u
#define STACK_WORDS 256u
#define BIN_BEFORE 16u		/* a pointer to a bin may be to the cache, and the bin's number times its size */
#define TRAILING 0xa7a7a7a7a7a7a7a7u	/* 5.3: behind the stacks */

/* tsd_s of 5.2: arenas_tdata, before the cache that is in it */
#define TSD_TICKERS 48u
/* from the beginning of tsd_s to the bins of its cache: pointers to bins may be that much lower */
#define TSD_BINS 512u

static uint64_t word(struct jemalloc *j, taddr at)
{
	uint64_t w;

	return snapshot_cursor_word(&j->cursor, at, &w) ? w : 0;
}

/* --- which --- */

static void add_cache(struct jemalloc *j, taddr at, const struct snapshot_thread *thread)
{
	for (size_t i = 0; i < j->ncaches; i++)
		if (j->caches[i].at == at)
			return;
	if (j->ncaches >= CACHES_MOST)
		return;
	if (grow_for(&j->caches, j->ncaches, &j->cache_room, sizeof(*j->caches)) < 0)
		j->no_memory = true;
	else
		j->caches[j->ncaches++] = (struct jemalloc_cache){ at, thread };
}

static bool is_cache(struct jemalloc *j, taddr at)
{
	if (j->version->caches_point_back)
		return at && word(j, word(j, at) + SLOW_CACHE) == at && word(j, at + CACHE_BINS);
	return at && word(j, at + CACHE_DESCRIPTOR) == at + CACHE_SMALL &&
	       word(j, at + CACHE_DESCRIPTOR + 8) == at + CACHE_LARGE && word(j, at + CACHE_SMALL + BIN_STACK);
}

/* The next one of the same arena; 0: none, or without statistics there is no ring. */
static taddr next_cache(struct jemalloc *j, taddr at)
{
	if (!j->version->caches_point_back)
		return word(j, at + CACHE_RING);
	const taddr slow = word(j, word(j, at));

	return slow ? word(j, slow + SLOW_CACHE) : 0;
}

static void find_in_tls(struct jemalloc *j, const struct snapshot_thread *t)
{
	const taddr fs = t->regs.fs_base;
	const struct mapping *m = procmaps_find(&j->s->maps, fs);
	const taddr lo = m && fs - m->lo > JEMALLOC_TLS_MOST ? fs - JEMALLOC_TLS_MOST : m ? m->lo : fs;

	for (taddr at = fs & ~(taddr)7; at > lo; at -= 8)
		if (is_cache(j, at - 8))
			add_cache(j, at - 8, t);
}

static void find_caches(struct jemalloc *j)
{
	for (size_t i = 0; i < j->s->nthreads; i++) {
		const struct snapshot_thread *t = &j->s->threads[i];

		if (t->known)
			find_in_tls(j, t);
		/* a thread that went on while its memory was copied */
		census_unsure(j->c, !t->known || t->running, t->regs.fs_base, "a thread was not stopped");
	}
	/* without any, what is in caches would count as in use; that caches are off (tcache:false) cannot be seen */
	census_unsure(j->c, !j->ncaches, 0, "no thread's cache was found");
	/* those that are added on the way have the same ring, or none */
	for (size_t i = 0; i < j->ncaches; i++) {
		const taddr next = next_cache(j, j->caches[i].at);

		if (is_cache(j, next))
			add_cache(j, next, NULL);
	}
}

/* --- what is in them --- */

static void add_cached(struct jemalloc *j, struct jemalloc_cached c)
{
	/* more than there is memory for: caches that share it are none */
	if (j->ncached > j->s->bytes / 8)
		census_unsure(j->c, 1, c.at, "caches have more blocks than there is memory");
	else if (grow_for(&j->cached, j->ncached, &j->cached_room, sizeof(*j->cached)) < 0)
		j->no_memory = true;
	else
		j->cached[j->ncached++] = c;
}

/* The block of jemalloc's own that @at is in. */
static void add_own(struct jemalloc *j, taddr at)
{
	const struct jemalloc_extent *x = jemalloc_extent_over(j, at);
	uint64_t size;

	if (!x) {
		census_unsure(j->c, 1, at, "a cache lies in no extent");
		return;
	}
	size = x->bits & EXTENT_SLAB ? jemalloc_size(extent_class(j->version, x->bits)) : 0;
	add_cached(j, (struct jemalloc_cached){ .at = size ? x->lo + (at - x->lo) / size * size : x->addr,
						.own = true });
}

static void add_slots(struct jemalloc *j, taddr lo, taddr hi)
{
	for (taddr at = lo; at < hi && !j->no_memory; at += 8) {
		const taddr block = word(j, at);

		if (block)
			add_cached(j, (struct jemalloc_cached){ .at = block });
		else
			census_unsure(j->c, 1, at, "a cache has no block here");
	}
}

/* Does the thread run code of the file that jemalloc is in? */
static bool runs_own_code(const struct jemalloc *j, const struct snapshot_thread *t)
{
	const struct mapping *code = procmaps_find(&j->s->maps, t->regs.rip),
			     *data = procmaps_find(&j->s->maps, j->data_lo);

	return code && data && code->ino == data->ino && code->dev == data->dev;
}

/*
 * A block is freed into a cache in two steps: the stack grows, then the block is written to it. Between the two
 * the topmost slot, at @top, has a block that was taken from it long ago. That is so if the thread has a pointer
 * to the @bin or to the slot, but not the block that is in the slot. A block that has just been taken from the
 * cache looks alike: then one that is free counts as in use.
 */
static bool being_put(struct jemalloc *j, const struct jemalloc_cache *c, taddr bin, taddr top, taddr end)
{
	const struct snapshot_thread *t = c->thread;
	const taddr block = word(j, top);

	return top < end && t && runs_own_code(j, t) && !registers_have(t, block) &&
	       (registers_have_in(t, top, top + 8) || registers_have_in(t, bin - BIN_BEFORE, bin + BIN) ||
		registers_have(t, bin - TSD_BINS));
}

/* Has the thread a pointer to @bin in a register, or near the top of its stack? */
static bool works_on(struct jemalloc *j, const struct snapshot_thread *t, taddr bin)
{
	if (registers_have(t, bin))
		return true;
	for (unsigned i = 0; i < STACK_WORDS; i++)
		if (word(j, t->sp + 8 * i) == bin)
			return true;
	return false;
}

/*
 * The bin is empty, nothing was taken from it since it was filled or emptied last, and its thread works on it:
 * the filling may be going on. Then the topmost slot has a block that is not the program's yet.
 */
static void note_filling(struct jemalloc *j, const struct jemalloc_cache *c, taddr bin, taddr top)
{
	const taddr block = word(j, bin + BIN_REQUESTS) ? 0 : word(j, top);

	if (block && c->thread && works_on(j, c->thread, bin))
		add_cached(j, (struct jemalloc_cached){ .at = block, .fresh = true });
}

/* 5.3: the stacks of all bins are one behind the other, in a block that begins and ends with a known word. */
static void take_stacks(struct jemalloc *j, const struct jemalloc_cache *c)
{
	const taddr cache = c->at;
	const taddr stacks = word(j, word(j, cache) + SLOW_STACKS);
	taddr lo = stacks + 8;

	add_own(j, stacks);
	for (unsigned i = 0; i < BINS_MOST && word(j, lo) != TRAILING; i++) {
		const taddr bin = cache + CACHE_BINS + i * BIN, head = word(j, bin + BIN_HEAD);
		const uint64_t bits = word(j, bin + BIN_BITS);
		const uint16_t empty = (uint16_t)(bits >> 32);
		const taddr end = lo + (uint16_t)(empty - (uint16_t)lo);

		if (head < lo || head > end || end == lo) {
			census_unsure(j->c, 1, bin, "a cache's stack of blocks has no sense");
			return;
		}
		add_slots(j, head + (being_put(j, c, bin, head, end) ? 8 : 0), end);
		if (head == end)
			note_filling(j, c, bin, end - 8);
		lo = end;
	}
}

/* 5.2: each bin has the end of its stack, which begins where the one before ends. */
static taddr take_bin(struct jemalloc *j, const struct jemalloc_cache *c, taddr bin, taddr before)
{
	const int32_t count = (int32_t)(word(j, bin + BIN_COUNT) >> 32);
	const taddr end = word(j, bin + BIN_STACK);
	/* -1: a thread has just found it empty */
	const uint64_t n = count < 0 ? 0 : (uint64_t)count;

	if (!end)
		return 0;
	if (end <= before || n > SLOTS_MOST || (before && n * 8 > end - before)) {
		census_unsure(j->c, 1, bin, "a cache's stack of blocks has no sense");
		return end;
	}
	add_slots(j, end - n * 8 + (being_put(j, c, bin, end - n * 8, end) ? 8 : 0), end);
	if (!n)
		note_filling(j, c, bin, end - 8);
	return end;
}

static void take_bins(struct jemalloc *j, const struct jemalloc_cache *c)
{
	const taddr cache = c->at;
	taddr end = 0;

	add_own(j, word(j, cache + CACHE_SMALL + BIN_STACK) - 8);
	/* a table of counters for each arena, which the thread has besides */
	if (c->thread && word(j, cache - TSD_TICKERS))
		add_own(j, word(j, cache - TSD_TICKERS));
	for (unsigned i = 0; i < BINS_MOST; i++) {
		const taddr bin = i < JEMALLOC_SMALL ? cache + CACHE_SMALL + i * BIN
						     : cache + CACHE_LARGE + (i - JEMALLOC_SMALL) * BIN;

		end = take_bin(j, c, bin, end);
		if (!end)
			return;
	}
}

static int by_address(const void *pa, const void *pb)
{
	const struct jemalloc_cached *a = pa, *b = pb;

	if (a->at != b->at)
		return a->at > b->at ? 1 : -1;
	return a->fresh - b->fresh;
}

/* Of a cache of no known thread: each thread that runs jemalloc's code may be changing it. */
static void note_unknown(struct jemalloc *j, const struct jemalloc_cache *c)
{
	for (size_t i = 0; i < j->s->nthreads && !c->thread; i++)
		census_unsure(j->c, j->s->threads[i].known && runs_own_code(j, &j->s->threads[i]), c->at,
			      "a thread may be changing this cache");
}

int jemalloc_list_cached(struct jemalloc *j)
{
	find_caches(j);
	for (size_t i = 0; i < j->ncaches && !j->no_memory; i++) {
		note_unknown(j, &j->caches[i]);
		if (j->version->caches_point_back)
			take_stacks(j, &j->caches[i]);
		else
			take_bins(j, &j->caches[i]);
	}
	if (j->ncached)
		qsort(j->cached, j->ncached, sizeof(*j->cached), by_address);
	return j->no_memory ? -ENOMEM : 0;
}

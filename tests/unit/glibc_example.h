/* SPDX-License-Identifier: MIT */
/*
 * glibc_example: the memory of a process with some version of glibc's malloc, made by hand: its own
 * variables, heaps of which each chunk is put by the test, and a thread for each tcache.
 *
 *	libc's data	malloc_state (main_arena), malloc_par
 *	main heap	chunks ... top
 *	other heaps	heap_info, in the first one malloc_state, chunks ... fenceposts or top
 *	threads		words below fs_base, one of them the address of the tcache
 *
 * What the versions differ in is a table (struct glibc_version), from malloc/malloc.c and malloc/arena.c of
 * their sources. Whatever is put is also noted, so that a census can be compared with it: live blocks one by
 * one, free chunks as sums, by where they are.
 */
#ifndef GLIBC_EXAMPLE_H
#define GLIBC_EXAMPLE_H

#include "heap/glibc/glibc.h"
#include "tests/unit/memory_example.h"

/* The second word of a chunk in a tcache. */
enum glibc_key {
	KEY_NONE,		/* what the program had there */
	KEY_OWN,		/* the address of the tcache */
	KEY_RANDOM,		/* a number of the process */
};

struct glibc_version {
	const char *name;
	const char *layout;	/* what the census calls it */
	uint16_t bins, fastbins;	/* where in struct malloc_state */
	uint16_t counts, mapped;	/* n_mmaps and mmapped_mem, where in struct malloc_par */
	uint16_t heap_info;	/* its size */
	uint16_t lists, count_bytes;	/* of a tcache */
	bool slots;		/* its counts are those of free slots */
	enum glibc_key key;
	bool mangled;		/* links of tcaches and fastbins */
};

enum example_state {
	LIVE,
	IN_TCACHE,
	IN_FASTBIN,
	IN_BIN,
	OWN,			/* a tcache */
};

#define EXAMPLE_DATA 0x7f0000100000u
#define EXAMPLE_DATA_SIZE 0x3000u
#define EXAMPLE_STATE (EXAMPLE_DATA + 0xb80)
#define EXAMPLE_PARAM (EXAMPLE_DATA + 0x280)
#define EXAMPLE_HEAP 0x555555760000u
#define EXAMPLE_OTHER 0x7effe8000000u		/* a multiple of 64 MiB */
#define EXAMPLE_HEAP_MAX (64ull << 20)
#define EXAMPLE_MAPPED 0x7effff000000u
#define EXAMPLE_TLS 0x7f0000200000u
#define EXAMPLE_TLS_SIZE 0x10000u		/* of each thread, one behind the other */
#define EXAMPLE_SLOT 0x48u			/* how far below fs_base the address of the tcache is */
#define EXAMPLE_RANDOM 0x8c3f5e92d1a74b60u
#define EXAMPLE_TEXT 0x6161616161616161u	/* what the program has in its blocks */
#define EXAMPLE_RANGES 12u
#define EXAMPLE_BLOCKS 64u
#define EXAMPLE_ARENAS 2u
#define EXAMPLE_COUNT 7u			/* tcache_count */

struct example_arena {
	taddr at;		/* of its malloc_state */
	uint64_t system_mem;
	struct census_sum used, fast, tcache, bins;
};

struct example_heap {
	taddr at, end, limit;	/* end: of the chunks that were put */
	size_t arena;
	uint64_t free;		/* the size of the last chunk, if it is in a bin */
};

struct glibc_example {
	struct memory_example m;
	const struct glibc_version *v;
	struct example_range {
		taddr lo;
		uint64_t size, *words;
		const char *path;
	} ranges[EXAMPLE_RANGES];
	size_t nranges;
	struct example_arena arenas[EXAMPLE_ARENAS];
	size_t narenas;
	struct block live[EXAMPLE_BLOCKS];
	size_t nlive;
	size_t nthreads, nown;
	uint64_t tcache_chunk;	/* the size of its chunk; 0: what the version has */
	uint64_t mapped_bytes, mapped_chunks;
};

/* --- memory --- */

/* @size bytes of zeros, in any order; example_ready writes the lines of the maps. */
static inline void example_range(struct glibc_example *e, taddr lo, uint64_t size, const char *path)
{
	uint64_t *words = calloc(1, size);

	assert_true(words && e->nranges < EXAMPLE_RANGES);
	assert_int_equal(snapshot_own(&e->m.s, words, 0), 0);
	assert_int_equal(snapshot_add_piece(&e->m.s, lo, size, words), 0);
	e->ranges[e->nranges++] = (struct example_range){ lo, size, words, path };
}

static inline int example_by_address(const void *a, const void *b)
{
	const struct example_range *x = a, *y = b;

	return (x->lo > y->lo) - (x->lo < y->lo);
}

static inline void example_ready(struct glibc_example *e)
{
	qsort(e->ranges, e->nranges, sizeof(*e->ranges), example_by_address);
	for (size_t i = 0; i < e->nranges; i++)
		example_gap(&e->m, e->ranges[i].lo, e->ranges[i].size, "rw-p", e->ranges[i].path);
	example_seal(&e->m);
}

static inline uint64_t *example_word(struct glibc_example *e, taddr at)
{
	for (size_t i = 0; i < e->nranges; i++)
		if (at - e->ranges[i].lo < e->ranges[i].size)
			return &e->ranges[i].words[(at - e->ranges[i].lo) / 8];
	fail_msg("nothing is mapped at %" PRItaddr, at);
	return NULL;
}

static inline void example_put_half(struct glibc_example *e, taddr at, uint32_t value)
{
	memcpy((uint8_t *)example_word(e, at & ~7ull) + at % 8, &value, sizeof(value));
}

/* A link, as it is in memory at @at. */
static inline uint64_t example_link(const struct glibc_example *e, taddr at, taddr to)
{
	return e->v->mangled ? to ^ at >> 12 : to;
}

/* --- malloc's own variables --- */

static inline void example_state(struct glibc_example *e, taddr at)
{
	const taddr bins = at + e->v->bins;

	for (unsigned i = 0; i < GLIBC_BINS; i++)
		*example_word(e, bins + 16 * i) = *example_word(e, bins + 16 * i + 8) = bins + 16 * i - 16;
	e->arenas[e->narenas++] = (struct example_arena){ .at = at };
	/* the newest comes after main_arena in the ring */
	*example_word(e, bins + GLIBC_NEXT) =
		e->narenas == 1 ? at : *example_word(e, EXAMPLE_STATE + e->v->bins + GLIBC_NEXT);
	*example_word(e, EXAMPLE_STATE + e->v->bins + GLIBC_NEXT) = at;
	*example_word(e, bins + GLIBC_TOP) = bins + GLIBC_TOP;
}

/* Mappings of single chunks: so many now, at most, and allowed. */
static inline void example_counts(struct glibc_example *e, uint32_t n, uint32_t most, uint32_t allowed,
				  bool fixed)
{
	const taddr at = EXAMPLE_PARAM + e->v->counts;

	example_put_half(e, at, n);
	example_put_half(e, at + 4, allowed);
	example_put_half(e, at + 8, most);
	example_put_half(e, at + 12, fixed);
}

static inline void example_param(struct glibc_example *e)
{
	static const uint64_t first[] = { 0x20000, 0x20000, 0x20000, 8, 0 };
	const taddr mapped = EXAMPLE_PARAM + e->v->mapped;
	const uint64_t last[] = { 0, 0, EXAMPLE_HEAP, 64, 0x408, EXAMPLE_COUNT, 0 };

	for (unsigned i = 0; i < 5; i++)
		*example_word(e, EXAMPLE_PARAM + 8 * i) = first[i];
	for (unsigned i = 0; i < 7; i++)
		*example_word(e, mapped + 8 * i) = last[i];
	example_counts(e, 0, 0, 65536, false);
}

static inline void example_glibc(struct glibc_example *e, const struct glibc_version *v)
{
	memset(e, 0, sizeof(*e));
	e->v = v;
	example_init(&e->m);
	example_range(e, EXAMPLE_DATA, EXAMPLE_DATA_SIZE, "/lib/libc.so.6");
	example_state(e, EXAMPLE_STATE);
	example_param(e);
}

/* --- heaps --- */

static inline struct example_heap example_main_heap(struct glibc_example *e, uint64_t size)
{
	example_range(e, EXAMPLE_HEAP, size, "[heap]");
	e->arenas[0].system_mem = size;
	return (struct example_heap){ .at = EXAMPLE_HEAP, .end = EXAMPLE_HEAP, .limit = EXAMPLE_HEAP + size };
}

/* The @i-th heap of the other arena, which begins in the first one. */
static inline struct example_heap example_other_heap(struct glibc_example *e, size_t i, uint64_t size)
{
	const taddr at = EXAMPLE_OTHER + i * EXAMPLE_HEAP_MAX;
	const taddr arena = EXAMPLE_OTHER + e->v->heap_info;
	struct example_heap h = { .at = at, .end = at + e->v->heap_info, .limit = at + size, .arena = 1 };

	example_range(e, at, size, "");
	if (i == 0) {
		example_state(e, arena);
		/* malloc_state ends with max_system_mem; a chunk begins at a multiple of 16 */
		h.end = (arena + e->v->bins + GLIBC_STATE_END + 15) & ~15ull;
	}
	*example_word(e, at) = arena;
	*example_word(e, at + 8) = i ? at - EXAMPLE_HEAP_MAX : 0;
	*example_word(e, at + 16) = *example_word(e, at + 24) = size;
	if (e->v->heap_info > 0x20)
		*example_word(e, at + 32) = SNAPSHOT_PAGE;
	e->arenas[1].system_mem += size;
	return h;
}

static inline void example_note(struct glibc_example *e, size_t arena, enum example_state state, taddr chunk,
				uint64_t size)
{
	struct example_arena *a = &e->arenas[arena];
	struct census_sum none = { 0 };
	struct census_sum *const sums[] = { &a->used, &a->tcache, &a->fast, &a->bins, &none };

	sums[state]->blocks++;
	sums[state]->bytes += size;
	e->nown += state == OWN;
	assert_true(e->nlive < EXAMPLE_BLOCKS);
	if (state == LIVE)
		e->live[e->nlive++] = (struct block){ chunk + 16, size - 8 };
}

/* The chunk behind the last one. Returns its address; lists have to be told of it. */
static inline taddr example_put(struct glibc_example *e, struct example_heap *h, uint64_t size,
				enum example_state state)
{
	const taddr at = h->end;

	if (h->free)
		*example_word(e, at) = h->free;
	*example_word(e, at + 8) =
		size | (h->free ? 0 : GLIBC_PREV_INUSE) | (h->arena ? GLIBC_FOREIGN_ARENA : 0);
	h->free = state == IN_BIN ? size : 0;
	h->end += size;
	assert_true(h->end < h->limit);
	if (state != OWN)
		for (uint64_t i = 16; i + 8 <= size; i += 8)
			*example_word(e, at + i) = EXAMPLE_TEXT;
	example_note(e, h->arena, state, at, size);
	return at;
}

/* The heap ends in top. */
static inline void example_top(struct glibc_example *e, struct example_heap *h)
{
	const struct example_arena *a = &e->arenas[h->arena];

	assert_int_equal(h->free, 0);
	*example_word(e, h->end + 8) = (h->limit - h->end) | GLIBC_PREV_INUSE;
	*example_word(e, a->at + e->v->bins + GLIBC_TOP) = h->end;
	*example_word(e, a->at + e->v->bins + GLIBC_SYSTEM_MEM) = a->system_mem;
}

/* The heap is full, and another one begins: a live block takes the rest but for two fenceposts. */
static inline void example_full(struct glibc_example *e, struct example_heap *h)
{
	(void)example_put(e, h, h->limit - h->end - 32, LIVE);
	*example_word(e, h->end + 8) = 16 | GLIBC_PREV_INUSE;
	*example_word(e, h->end + 24) = GLIBC_PREV_INUSE;
}

/* --- lists --- */

/* The chunk becomes the first in that bin; they are counted from 1, which is the unsorted one. */
static inline void example_to_bin(struct glibc_example *e, size_t arena, unsigned bin, taddr chunk)
{
	const taddr list = e->arenas[arena].at + e->v->bins + 16 * bin - 16;
	const taddr first = *example_word(e, list + 16);

	*example_word(e, chunk + 16) = first;
	*example_word(e, chunk + 24) = list;
	*example_word(e, first + 24) = chunk;
	*example_word(e, list + 16) = chunk;
}

static inline void example_to_fastbin(struct glibc_example *e, size_t arena, taddr chunk)
{
	const uint64_t size = *example_word(e, chunk + 8) & ~7ull;
	uint64_t *head = example_word(e, e->arenas[arena].at + e->v->fastbins + 8 * (size / 16 - 2));

	*example_word(e, chunk + 16) = example_link(e, chunk + 16, *head);
	*head = chunk;
}

static inline uint64_t example_tcache_chunk(const struct glibc_version *v)
{
	return (v->lists * (8u + v->count_bytes) + 8u + 15u) & ~15ull;
}

/* The next thread, without a tcache. */
static inline struct snapshot_thread *example_add_thread(struct glibc_example *e)
{
	const taddr lo = EXAMPLE_TLS + e->nthreads * EXAMPLE_TLS_SIZE;
	struct snapshot_thread *t = example_thread(&e->m, 1000 + (pid_t)e->nthreads++, lo + 0x100);

	example_range(e, lo, EXAMPLE_TLS_SIZE, "");
	t->regs.fs_base = lo + EXAMPLE_TLS_SIZE - 0x900;
	return t;
}

/* A tcache in @h, of thread @t (NULL: of none). Returns its address. */
static inline taddr example_tcache(struct glibc_example *e, struct example_heap *h,
				   const struct snapshot_thread *t)
{
	const uint64_t size = e->tcache_chunk ? e->tcache_chunk : example_tcache_chunk(e->v);
	const taddr at = example_put(e, h, size, OWN) + 16;

	for (unsigned i = 0; i < e->v->lists && e->v->slots; i++)
		*((uint16_t *)example_word(e, at) + i) = EXAMPLE_COUNT;
	if (t)
		*example_word(e, t->regs.fs_base - EXAMPLE_SLOT) = at;
	return at;
}

static inline void example_count(struct glibc_example *e, taddr tcache, unsigned i, int change)
{
	void *counts = example_word(e, tcache);

	if (e->v->count_bytes == 1)
		((uint8_t *)counts)[i] += (uint8_t)change;
	else
		((uint16_t *)counts)[i] += (uint16_t)(e->v->slots ? -change : change);
}

static inline taddr example_list(const struct glibc_example *e, taddr tcache, uint64_t size)
{
	return tcache + e->v->lists * e->v->count_bytes + 8 * (size / 16 - 2);
}

static inline void example_to_tcache(struct glibc_example *e, taddr tcache, taddr chunk)
{
	const uint64_t size = *example_word(e, chunk + 8) & ~7ull;
	uint64_t *head = example_word(e, example_list(e, tcache, size));

	*example_word(e, chunk + 16) = example_link(e, chunk + 16, *head);
	if (e->v->key != KEY_NONE)
		*example_word(e, chunk + 24) = e->v->key == KEY_OWN ? tcache : EXAMPLE_RANDOM;
	*head = chunk + 16;
	example_count(e, tcache, (unsigned)(size / 16 - 2), 1);
}

/* --- chunks with a mapping of their own --- */

/* @size bytes, a gap away from other memory; with @offset as memalign makes it. */
static inline void example_mapped(struct glibc_example *e, uint64_t size, uint64_t offset)
{
	const taddr at = EXAMPLE_MAPPED + e->mapped_chunks++ * 0x1000000u;

	example_range(e, at, size, "");
	*example_word(e, at + 8) = size | GLIBC_MMAPPED;
	*example_word(e, at + offset) = offset;
	*example_word(e, at + offset + 8) = (size - offset) | GLIBC_MMAPPED;
	e->live[e->nlive++] = (struct block){ at + offset + 16, size - offset - 16 };
	e->mapped_bytes += size;
	*example_word(e, EXAMPLE_PARAM + e->v->mapped) = e->mapped_bytes;
	*example_word(e, EXAMPLE_PARAM + e->v->mapped + 8) = e->mapped_bytes;
	example_counts(e, (uint32_t)e->mapped_chunks, (uint32_t)e->mapped_chunks, 65536, false);
}

#endif

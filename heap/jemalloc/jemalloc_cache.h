/* SPDX-License-Identifier: MIT */
/*
 * jemalloc_cache: the layout of a thread's cache (tcache_t), which is in its TLS; and what words that were
 * read from a running process say about it. Pure. doc/jemalloc-heap.md has the drawing.
 */
#ifndef MM_JEMALLOC_CACHE_H
#define MM_JEMALLOC_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/taddr.h"

struct jemalloc_version;

#define JEMALLOC_TLS_MOST 65536u	/* below a thread's struct pthread */
#define BIN 24u				/* of both versions */

/* tcache_slow_s of 5.3 */
#define SLOW_BINS 32u
#define SLOW_STACKS 160u
#define SLOW_CACHE 168u
#define CACHE_BINS 8u
/* cache_bin_s */
#define BIN_HEAD 0u
#define BIN_REQUESTS 8u
#define BIN_BITS 16u

/* tcache_s of 5.2 */
#define CACHE_SMALL 16u
#define CACHE_RING 880u
#define CACHE_DESCRIPTOR 936u
#define CACHE_LARGE 1000u
/* cache_bin_s */
#define BIN_COUNT 0u
#define BIN_STACK 16u

#define JEMALLOC_CACHE_CLASSES 73u	/* up to 8 MiB, which no cache exceeds (5.3) */
/* of a cache, in either version */
#define JEMALLOC_CACHE_BYTES (CACHE_LARGE + (JEMALLOC_CACHE_CLASSES - 36) * BIN)

/* What is in a cache of one size class is in the slots before @end, the one put there last in the lowest. */
struct jemalloc_cache_bin {
	taddr at;			/* of its struct: BIN bytes */
	taddr end;
	uint32_t slots;			/* as many as there are; 0: it has none of that class */
};

/* Is there a cache at @at, in the TLS of which [@lo, @lo + 8 * @n) was read as @words? */
bool jemalloc_cache_is(const struct jemalloc_version *v, taddr at, taddr lo, const uint64_t *words, size_t n);

/*
 * If there is a cache at @at, whose bytes were read as @words: the address of a word that must be @value.
 * It may be anywhere.
 */
taddr jemalloc_cache_proof(const struct jemalloc_version *v, taddr at,
			   const uint64_t words[JEMALLOC_CACHE_BYTES / 8], uint64_t *value);

/*
 * The bins of the cache at @at, read as @words: of each size class. Bins whose slots contradict, or
 * are no words below their end, are left out.
 */
void jemalloc_cache_bins(const struct jemalloc_version *v, taddr at,
			 const uint64_t words[JEMALLOC_CACHE_BYTES / 8],
			 struct jemalloc_cache_bin out[JEMALLOC_CACHE_CLASSES]);

/* How many slots are in use, by the words of the bin's struct. */
uint32_t jemalloc_cache_held(const struct jemalloc_version *v, const struct jemalloc_cache_bin *b,
			     const uint64_t words[BIN / 8]);

#endif

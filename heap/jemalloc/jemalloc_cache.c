/* SPDX-License-Identifier: MIT */
#include "heap/jemalloc/jemalloc_cache.h"

#include "heap/jemalloc/jemalloc.h"

#define SLOTS_MOST 8192u
#define SLOTS_USUAL 200u		/* of the smallest class */

/* The word at @at, of those read; 0: it was not. */
static uint64_t word(taddr at, taddr lo, const uint64_t *words, size_t n)
{
	return at >= lo && (at - lo) % 8 == 0 && (at - lo) / 8 < n ? words[(at - lo) / 8] : 0;
}

bool jemalloc_cache_is(const struct jemalloc_version *v, taddr at, taddr lo, const uint64_t *words, size_t n)
{
	const uint64_t first = word(at, lo, words, n);

	if (!at)
		return false;
	if (v->caches_point_back)
		return first && word(first + SLOW_CACHE, lo, words, n) == at &&
		       word(at + CACHE_BINS, lo, words, n);
	return word(at + CACHE_DESCRIPTOR, lo, words, n) == at + CACHE_SMALL &&
	       word(at + CACHE_DESCRIPTOR + 8, lo, words, n) == at + CACHE_LARGE &&
	       word(at + CACHE_SMALL + BIN_STACK, lo, words, n);
}

taddr jemalloc_cache_proof(const struct jemalloc_version *v, taddr at,
			   const uint64_t words[JEMALLOC_CACHE_BYTES / 8], uint64_t *value)
{
	*value = v->caches_point_back ? at : at + CACHE_SMALL;
	return v->caches_point_back ? words[0] + SLOW_CACHE : at + CACHE_DESCRIPTOR;
}

/* 5.3: the head is a whole address, of the ends it has the lowest 16 bits. */
static struct jemalloc_cache_bin bin_by_bits(taddr at, const uint64_t *w)
{
	const taddr head = w[BIN_HEAD / 8];
	const uint16_t full = (uint16_t)(w[BIN_BITS / 8] >> 16), empty = (uint16_t)(w[BIN_BITS / 8] >> 32);

	return (struct jemalloc_cache_bin){ .at = at, .end = head + (uint16_t)(empty - (uint16_t)head),
					    .slots = head ? (uint16_t)(empty - full) / 8u : 0 };
}

/* 5.2: the stack begins where that of the class before ends. */
static struct jemalloc_cache_bin bin_by_end(taddr at, const uint64_t *w, taddr *before)
{
	const taddr end = w[BIN_STACK / 8], lo = *before ? *before : end - 8 * SLOTS_USUAL;
	const uint64_t slots = end > lo ? (end - lo) / 8 : 0;

	*before = end;
	return (struct jemalloc_cache_bin){ .at = at, .end = end,
					    .slots = slots <= SLOTS_MOST ? (uint32_t)slots : 0 };
}

/* From the beginning of a cache: the bin of class @i. */
static unsigned offset_of(const struct jemalloc_version *v, unsigned i)
{
	if (v->caches_point_back)
		return CACHE_BINS + i * BIN;
	return i < JEMALLOC_SMALL ? CACHE_SMALL + i * BIN : CACHE_LARGE + (i - JEMALLOC_SMALL) * BIN;
}

void jemalloc_cache_bins(const struct jemalloc_version *v, taddr at,
			 const uint64_t words[JEMALLOC_CACHE_BYTES / 8],
			 struct jemalloc_cache_bin out[JEMALLOC_CACHE_CLASSES])
{
	taddr before = 0;
	bool more = true;

	/* a process may have anything there: what is read by these must be whole words, below their end */

	for (unsigned i = 0; i < JEMALLOC_CACHE_CLASSES; i++) {
		const unsigned offset = offset_of(v, i);
		const uint64_t *w = &words[offset / 8];

		out[i] = (struct jemalloc_cache_bin){ 0 };
		more = more && w[v->caches_point_back ? BIN_HEAD / 8 : BIN_STACK / 8];
		if (more)
			out[i] = v->caches_point_back ? bin_by_bits(at + offset, w)
						      : bin_by_end(at + offset, w, &before);
		if (at % 8 || out[i].end % 8 || out[i].end / 8 <= out[i].slots)
			out[i].slots = 0;
	}
}

uint32_t jemalloc_cache_held(const struct jemalloc_version *v, const struct jemalloc_cache_bin *b,
			     const uint64_t words[BIN / 8])
{
	const int32_t count = (int32_t)(words[BIN_COUNT / 8] >> 32);
	/* of 5.2; -1: a thread has just found it empty */
	uint64_t n = count < 0 ? 0 : (uint64_t)count;

	if (v->caches_point_back)
		n = (b->end - words[BIN_HEAD / 8]) / 8;
	return n <= b->slots ? (uint32_t)n : 0;
}

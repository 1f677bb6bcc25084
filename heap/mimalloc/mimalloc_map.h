/* SPDX-License-Identifier: MIT */
/*
 * mimalloc_map: where mimalloc keeps what it knows of one block, and what the words say, in a process that runs
 * on. The words are read by the caller (attach/sampling/heaps/mimalloc_heap.h).
 *
 *	address ──▶ segment (a multiple of 32 MiB): cookie
 *	        ──▶ slice (64 KiB) ──▶ page: size of its blocks, how many are in use, lists ──▶ heap: a list
 */
#ifndef MM_MIMALLOC_MAP_H
#define MM_MIMALLOC_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "heap/snapshot/snapshot.h"

struct mimalloc_map {
	uint64_t cookie;		/* of a segment at 0 */
	taddr data_lo, data_hi;		/* the data of the file it is in */
};

/* 0; -ENOENT: there is none that is known; -ENOMEM. */
must_check int mimalloc_map_find(const struct snapshot *s, struct mimalloc_map *out);

/* --- the way to a page --- */

/* Where the cookie is of the segment that @at is in; it must be @value. */
taddr mimalloc_map_cookie(const struct mimalloc_map *m, taddr at, uint64_t *value);

/* Where the slice is described that @at is in. */
taddr mimalloc_map_slice(taddr at);

/* The page that has this slice, whose first word was read as @word; 0: it can be none. */
taddr mimalloc_map_page(taddr slice, uint64_t word);

/* --- what its words say --- */

#define MIMALLOC_PAGE_WORDS 7u
/* of these, what the page's own thread changes */
#define MIMALLOC_OWN_WORDS 5u

struct mimalloc_place {
	uint64_t size;			/* of its blocks; 0: it has none */
	taddr lo, hi;			/* its memory */
	bool aligned;			/* memalign has given out addresses inside of its blocks */
	bool delayed;			/* a block may be in the list of its heap */
	taddr heap;			/* 0: its thread has ended */
};

struct mimalloc_place mimalloc_map_place(taddr page, const uint64_t words[MIMALLOC_PAGE_WORDS]);

/* --- lists of free blocks --- */

/* The two that the page's own thread handles, and how many blocks these have together. */
uint32_t mimalloc_map_own(const uint64_t words[MIMALLOC_OWN_WORDS], taddr *free, taddr *local);

/* Where the word is that leads to the list of what other threads have freed, and the list's first block. */
taddr mimalloc_map_foreign(taddr page);
taddr mimalloc_map_foreign_first(uint64_t word);

/* Where the first block of a heap's list is. */
taddr mimalloc_map_delayed(taddr heap);

#endif

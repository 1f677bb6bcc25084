/* SPDX-License-Identifier: MIT */
/* time_heap: which site is due next: a heap of site numbers, ordered by time. Pure, of a fixed size. */
#ifndef MM_TIME_HEAP_H
#define MM_TIME_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#define TIME_HEAP_MAX 4096	/* as many as there are sites */
#define TIME_HEAP_NONE UINT32_MAX

struct time_heap {
	uint32_t n;
	uint32_t heap[TIME_HEAP_MAX];		/* site numbers, the earliest at 0 */
	uint16_t place[TIME_HEAP_MAX];	/* index in heap, + 1; 0: it is not in the heap */
	uint64_t at_ns[TIME_HEAP_MAX];
};

/* @i is due at @at_ns, and at no other time. */
void time_heap_set(struct time_heap *d, uint32_t i, uint64_t at_ns);

/* @i is not due (any more). */
void time_heap_drop(struct time_heap *d, uint32_t i);

bool time_heap_has(const struct time_heap *d, uint32_t i);

/* The site that is due first, or TIME_HEAP_NONE; d->at_ns says when. */
uint32_t time_heap_first(const struct time_heap *d);

#endif

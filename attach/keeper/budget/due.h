/* SPDX-License-Identifier: MIT */
/* due: which site is due next: a heap of site numbers, ordered by time. Pure, of a fixed size. */
#ifndef MM_DUE_H
#define MM_DUE_H

#include <stdbool.h>
#include <stdint.h>

#define DUE_MAX 4096	/* as many as there are sites */
#define DUE_NONE UINT32_MAX

struct due {
	uint32_t n;
	uint32_t heap[DUE_MAX];		/* site numbers, the earliest at 0 */
	uint16_t place[DUE_MAX];	/* index in heap, + 1; 0: it is not in the heap */
	uint64_t at_ns[DUE_MAX];
};

/* @i is due at @at_ns, and at no other time. */
void due_set(struct due *d, uint32_t i, uint64_t at_ns);

/* @i is not due (any more). */
void due_drop(struct due *d, uint32_t i);

bool due_has(const struct due *d, uint32_t i);

/* The site that is due first, or DUE_NONE; d->at_ns says when. */
uint32_t due_first(const struct due *d);

#endif

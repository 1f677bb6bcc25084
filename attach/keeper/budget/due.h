/* SPDX-License-Identifier: MIT */
/*
 * due: which site's turn is next: a heap by time, of numbers of sites. Pure, of a fixed size.
 */
#ifndef MM_DUE_H
#define MM_DUE_H

#include <stdbool.h>
#include <stdint.h>

#define DUE_MAX 4096	/* as many as there are sites */
#define DUE_NONE UINT32_MAX

struct due {
	uint32_t n;
	uint32_t heap[DUE_MAX];		/* numbers, the first to come at 0 */
	uint16_t place[DUE_MAX];	/* in heap, + 1; 0: it is not in there */
	uint64_t at_ns[DUE_MAX];
};

/* @i's turn is at @at_ns, and no other time. */
void due_set(struct due *d, uint32_t i, uint64_t at_ns);

/* @i has no turn (any more). */
void due_drop(struct due *d, uint32_t i);

bool due_has(const struct due *d, uint32_t i);

/* Who comes first, or DUE_NONE; d->at_ns says when. */
uint32_t due_first(const struct due *d);

#endif

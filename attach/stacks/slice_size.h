/* SPDX-License-Identifier: MIT */
/*
 * slice_size: how much of each thread's stack is worth copying.
 *
 * The keeper copies a slice before the depth of the stack is known. A thread's first slices are as large as
 * is allowed; later ones are twice as large as its deepest stack, and some more. If a slice was too short,
 * the next ones are twice as long, so a depth that is new to a thread costs one stack that is cut. The size
 * never shrinks again: a rare deep path may be the one that leaks.
 *
 * The keeper gets the size through shared->slice_hint, at the thread's index in its table. It does not wait
 * for it: if a hint is late, a slice is too long or too short.
 */
#ifndef MM_SLICE_SIZE_H
#define MM_SLICE_SIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/keeper/shared/shared.h"

#define SLICE_SIZE_FIRST 64		/* stacks of a thread that are copied with the largest size allowed */

struct slice_size {
	struct shared *shared;
	struct slice_size_thread {
		uint32_t tid;
		uint32_t seen;		/* stacks */
		uint32_t deepest;	/* bytes of a slice that were needed */
		uint32_t at_least;	/* because a shorter one was cut */
	} threads[SHARED_THREADS];
};

void slice_size_init(struct slice_size *s, struct shared *shared);

/* A stack of @hit was unwound with @used bytes of its slice; @cut: the stack continued after the slice. */
void slice_size_learn(struct slice_size *s, const struct record_hit *hit, uint32_t used, bool cut);

#endif

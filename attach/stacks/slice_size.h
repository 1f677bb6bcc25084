/* SPDX-License-Identifier: MIT */
/*
 * slice_size: how much of each thread's stack is worth copying.
 *
 * A slice is copied before the depth of the stack is known. But all stacks of a thread end at the same address
 * (where main or the thread's function was called): when one was unwound up to there, slices end there. For hits
 * on other stacks (of coroutines, of signals) there is also a size: a thread's first slices are as large as is
 * allowed, later ones twice as large as its deepest stack, and some more. If a slice was too short, the next ones
 * are twice as long, so a depth that is new to a thread costs one stack that is cut. Neither end nor size shrink
 * again: a rare deep path may be the one that leaks.
 *
 * Both are in shared->slice_hints, at the thread's index in the keeper's table. The keeper does not wait for them: if
 * a hint is late, a slice is too long or too short.
 */
#ifndef MM_SLICE_SIZE_H
#define MM_SLICE_SIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/keeper/shared/shared.h"
#include "attach/stacks/unwind/unwind.h"

#define SLICE_SIZE_FIRST 64		/* stacks of a thread that are copied with the largest size allowed */

struct slice_size {
	struct shared *shared;
	struct slice_size_thread {
		uint32_t tid;
		uint32_t seen;		/* stacks */
		uint32_t deepest;	/* bytes of a slice that were needed */
		uint32_t at_least;	/* because a shorter one was cut */
		taddr end;		/* of the stacks that were whole; 0: none was yet */
	} threads[SHARED_THREADS];
};

void slice_size_init(struct slice_size *s, struct shared *shared);

/* The stack @st of @hit was unwound with its slice. */
void slice_size_learn(struct slice_size *s, const struct record_hit *hit, const struct unwind_stack *st);

#endif

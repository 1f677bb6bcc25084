/* SPDX-License-Identifier: MIT */
/*
 * slices: how much of each thread's stack is worth copying.
 *
 * The keeper copies a slice before anyone can know how deep the stack is. A
 * thread's first slices are as large as is allowed; then twice as large as its
 * deepest stack, and some more. A slice that was too short doubles the next ones, so
 * a depth that a thread has not had before costs one stack that is cut. It never
 * shrinks again: a rare deep path may be the one that leaks.
 *
 * What is learned goes to the keeper through shared->slice_hint, by the thread's
 * place in its table. Nobody waits for it: a hint that comes late is a slice too long or too short.
 */
#ifndef MM_SLICES_H
#define MM_SLICES_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/keeper/shared/shared.h"

#define SLICES_FIRST 64		/* stacks of a thread that are copied as far as is allowed */

struct slices {
	struct shared *shared;
	struct slices_thread {
		uint32_t tid;
		uint32_t seen;		/* stacks */
		uint32_t deepest;	/* bytes of a slice that were needed */
		uint32_t at_least;	/* because a shorter one was cut */
	} threads[SHARED_THREADS];
};

void slices_init(struct slices *s, struct shared *shared);

/* A stack of @hit was unwound with @used bytes of its slice; @cut: it went on behind them. */
void slices_learn(struct slices *s, const struct record_hit *hit, uint32_t used, bool cut);

#endif

/* SPDX-License-Identifier: MIT */
#include "attach/stacks/slice_size.h"

#include <string.h>

#define SPARE 1024
#define END_UNIT 64	/* an end is a multiple of it: the last word that was read may differ */

void slice_size_init(struct slice_size *s, struct shared *shared)
{
	memset(s, 0, sizeof(*s));
	s->shared = shared;
}

static uint32_t wanted(const struct slice_size_thread *t, uint32_t most)
{
	uint32_t n = 2 * t->deepest + SPARE;

	if (t->seen < SLICE_SIZE_FIRST && !t->at_least)
		return 0;
	if (n < t->at_least)
		n = t->at_least;
	return n < most ? n : most;
}

static void set(_Atomic uint64_t *to, uint64_t value)
{
	/* most hits teach nothing, and others read it */
	if (atomic_load_explicit(to, memory_order_relaxed) != value)
		atomic_store_explicit(to, value, memory_order_release);
}

/* Where does the stack of this hit end, at least? */
static void learn_end(struct slice_size_thread *t, const struct record_hit *hit, const struct unwind_stack *st)
{
	taddr end = 0;

	if (st->end == UNWIND_WHOLE)
		end = (hit->regs.rsp + st->used + END_UNIT) & ~(taddr)(END_UNIT - 1);
	else if (st->end == UNWIND_CUT && t->end && hit->regs.rsp + hit->slice_len >= t->end)
		end = hit->regs.rsp + 2 * (taddr)hit->slice_len + SPARE;
	if (end > t->end)
		t->end = end;
}

void slice_size_learn(struct slice_size *s, const struct record_hit *hit, const struct unwind_stack *st)
{
	const uint32_t i = hit->thread % SHARED_THREADS;
	struct slice_size_thread *t = &s->threads[i];

	if (t->tid != hit->head.tid)
		*t = (struct slice_size_thread){ .tid = hit->head.tid };
	if (st->used > t->deepest)
		t->deepest = st->used;
	if (st->end == UNWIND_CUT && hit->slice_len >= t->at_least)
		t->at_least = 2 * hit->slice_len;
	t->seen++;
	learn_end(t, hit, st);
	set(&s->shared->slice_hints[i].end, t->end);
	set(&s->shared->slice_hints[i].bytes, (uint64_t)t->tid << 32 | wanted(t, s->shared->slice_bytes));
}

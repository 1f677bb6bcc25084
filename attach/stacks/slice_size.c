/* SPDX-License-Identifier: MIT */
#include "attach/stacks/slice_size.h"

#include <string.h>

#define SPARE 1024

void slice_size_init(struct slice_size *s, struct shared *shared)
{
	memset(s, 0, sizeof(*s));
	s->shared = shared;
}

static uint32_t wanted(const struct slice_size_thread *t, uint32_t most)
{
	uint32_t n = 2 * t->deepest + SPARE;

	if (n < t->at_least)
		n = t->at_least;
	return n < most ? n : most;
}

void slice_size_learn(struct slice_size *s, const struct record_hit *hit, uint32_t used, bool cut)
{
	struct slice_size_thread *t = &s->threads[hit->thread % SHARED_THREADS];
	uint64_t hint, before;

	if (t->tid != hit->head.tid)
		*t = (struct slice_size_thread){ .tid = hit->head.tid };
	if (used > t->deepest)
		t->deepest = used;
	if (cut && hit->slice_len >= t->at_least)
		t->at_least = 2 * hit->slice_len;
	if (++t->seen < SLICE_SIZE_FIRST && !cut)
		return;
	before = atomic_load_explicit(&s->shared->slice_hint[hit->thread % SHARED_THREADS],
				      memory_order_relaxed);
	hint = (uint64_t)hit->head.tid << 32 | wanted(t, s->shared->slice_bytes);
	if (hint != before)
		atomic_store_explicit(&s->shared->slice_hint[hit->thread % SHARED_THREADS], hint,
				      memory_order_relaxed);
}

/* SPDX-License-Identifier: MIT */
#include "attach/keeper/budget/time_heap.h"

#include "base/minheap.h"

static bool before(const void *ctx, uint32_t a, uint32_t b)
{
	const struct time_heap *d = ctx;

	return d->at_ns[a] < d->at_ns[b];
}

static void moved(void *ctx, uint32_t i, uint32_t place)
{
	((struct time_heap *)ctx)->place[i] = (uint16_t)(place + 1);
}

static void settle(struct time_heap *d, uint32_t place)
{
	minheap_settle(&(struct minheap){ d->heap, d->n, before, moved, d }, place);
}

void time_heap_set(struct time_heap *d, uint32_t i, uint64_t at_ns)
{
	time_heap_drop(d, i);
	d->at_ns[i] = at_ns;
	d->heap[d->n++] = i;
	settle(d, d->n - 1);
}

void time_heap_drop(struct time_heap *d, uint32_t i)
{
	uint32_t place = d->place[i], last;

	if (!place)
		return;
	d->place[i] = 0;
	last = d->heap[--d->n];
	if (last == i)
		return;
	d->heap[place - 1] = last;
	settle(d, place - 1);
}

bool time_heap_has(const struct time_heap *d, uint32_t i)
{
	return d->place[i];
}

uint32_t time_heap_first(const struct time_heap *d)
{
	return d->n ? d->heap[0] : TIME_HEAP_NONE;
}

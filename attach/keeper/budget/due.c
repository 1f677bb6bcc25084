/* SPDX-License-Identifier: MIT */
#include "attach/keeper/budget/due.h"

#include "base/minheap.h"

static bool before(const void *ctx, uint32_t a, uint32_t b)
{
	const struct due *d = ctx;

	return d->at_ns[a] < d->at_ns[b];
}

static void moved(void *ctx, uint32_t i, uint32_t place)
{
	((struct due *)ctx)->place[i] = (uint16_t)(place + 1);
}

static void settle(struct due *d, uint32_t place)
{
	minheap_settle(&(struct minheap){ d->heap, d->n, before, moved, d }, place);
}

void due_set(struct due *d, uint32_t i, uint64_t at_ns)
{
	due_drop(d, i);
	d->at_ns[i] = at_ns;
	d->heap[d->n++] = i;
	settle(d, d->n - 1);
}

void due_drop(struct due *d, uint32_t i)
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

bool due_has(const struct due *d, uint32_t i)
{
	return d->place[i];
}

uint32_t due_first(const struct due *d)
{
	return d->n ? d->heap[0] : DUE_NONE;
}

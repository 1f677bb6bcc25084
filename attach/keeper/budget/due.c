/* SPDX-License-Identifier: MIT */
#include "attach/keeper/budget/due.h"

static void put(struct due *d, uint32_t place, uint16_t i)
{
	d->heap[place] = i;
	d->place[i] = place + 1;
}

static bool before(const struct due *d, uint16_t a, uint16_t b)
{
	return d->at_ns[a] < d->at_ns[b];
}

static void up(struct due *d, uint32_t place, uint16_t i)
{
	while (place && before(d, i, d->heap[(place - 1) / 2])) {
		put(d, place, d->heap[(place - 1) / 2]);
		place = (place - 1) / 2;
	}
	put(d, place, i);
}

static void down(struct due *d, uint32_t place, uint16_t i)
{
	for (uint32_t child; (child = 2 * place + 1) < d->n; place = child) {
		if (child + 1 < d->n && before(d, d->heap[child + 1], d->heap[child]))
			child++;
		if (!before(d, d->heap[child], i))
			break;
		put(d, place, d->heap[child]);
	}
	put(d, place, i);
}

void due_set(struct due *d, uint32_t i, uint64_t at_ns)
{
	due_drop(d, i);
	d->at_ns[i] = at_ns;
	up(d, d->n++, i);
}

void due_drop(struct due *d, uint32_t i)
{
	uint32_t place = d->place[i];
	uint16_t last;

	if (!place)
		return;
	d->place[i] = 0;
	last = d->heap[--d->n];
	if (last == i)
		return;
	/* the last one takes its place, and moves whichever way it must */
	down(d, place - 1, last);
	up(d, d->place[last] - 1, last);
}

bool due_has(const struct due *d, uint32_t i)
{
	return d->place[i];
}

uint32_t due_first(const struct due *d)
{
	return d->n ? d->heap[0] : DUE_NONE;
}

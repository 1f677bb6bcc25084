/* SPDX-License-Identifier: MIT */
#include "attach/live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void live_init(struct live *l)
{
	*l = (struct live){ 0 };
	addrmap_init(&l->blocks, sizeof(struct block));
}

void live_fini(struct live *l)
{
	addrmap_fini(&l->blocks);
	free(l->places);
}

static int reserve_place(struct live *l, uint32_t place)
{
	size_t size = l->places_size ? l->places_size : 64;
	struct place *p;

	while (size <= place)
		size *= 2;
	if (size > l->places_size) {
		p = reallocarray(l->places, size, sizeof(*p));
		if (!p)
			return -ENOMEM;
		l->places = p;
		l->places_size = size;
	}
	if (place >= l->nplaces) {
		memset(&l->places[l->nplaces], 0, (place + 1 - l->nplaces) * sizeof(*l->places));
		l->nplaces = place + 1;
	}
	return 0;
}

static void hold(struct live *l, const struct block *b, int sign)
{
	struct place *p = &l->places[b->place];

	p->blocks += sign;
	p->bytes += sign * (int64_t)b->size;
	l->held_blocks += sign;
	l->held_bytes += sign * (int64_t)b->size;
}

int live_alloc(struct live *l, taddr addr, uint64_t size, uint32_t place, uint64_t now_ns)
{
	struct block *b = addrmap_slot(&l->blocks, addr, NULL);

	if (!b || reserve_place(l, place) < 0)
		return -ENOMEM;
	/* given out again without a release that we saw: the old block is gone all the same */
	if (b->held)
		hold(l, b, -1);
	*b = (struct block){ .size = size, .born_ns = now_ns, .place = place, .held = true };
	hold(l, b, 1);
	l->places[place].allocs++;
	l->allocs++;
	return 0;
}

void live_forget(struct live *l, taddr addr)
{
	struct block b;

	if (addrmap_del(&l->blocks, addr, &b) && b.held)
		hold(l, &b, -1);
}

void live_gap(struct live *l)
{
	l->epoch++;
}

void live_set_aside(struct live *l, taddr addr, struct aside *out)
{
	bool fresh;
	struct block *b = addrmap_slot(&l->blocks, addr, &fresh);

	*out = (struct aside){ .addr = addr, .was = ASIDE_UNKNOWN };
	if (!b || fresh)
		return;
	if (b->held)
		out->was = ASIDE_HELD;
	else if (b->epoch == l->epoch)
		out->was = ASIDE_RELEASED;
	out->block = *b;
	if (b->held)
		hold(l, b, -1);
	b->held = false;
	b->epoch = l->epoch;
}

void live_released(struct live *l, const struct aside *a, bool counted)
{
	if (!counted)
		return;
	l->frees++;
	if (a->was == ASIDE_UNKNOWN)
		l->unmatched_frees++;
	else if (a->was == ASIDE_RELEASED)
		l->double_frees++;
	else
		l->places[a->block.place].frees++;
}

void live_put_back(struct live *l, const struct aside *a)
{
	struct block *b = addrmap_get(&l->blocks, a->addr);

	if (!b)
		return;
	if (a->was == ASIDE_UNKNOWN) {
		addrmap_del(&l->blocks, a->addr, NULL);
		return;
	}
	*b = a->block;
	if (b->held)
		hold(l, b, 1);
}

void live_free(struct live *l, taddr addr, bool counted)
{
	struct aside a;

	live_set_aside(l, addr, &a);
	live_released(l, &a, counted);
}

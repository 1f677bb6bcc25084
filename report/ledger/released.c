/* SPDX-License-Identifier: MIT */
/*
 * released: see released.h. The table doubles until the next doubling would exceed the limit. From then on,
 * each new address evicts the oldest of the next few in the table. The position of these few advances, so
 * that no address is left out.
 */
#include "report/ledger/released.h"

#include <errno.h>
#include <stdlib.h>

#include "base/addrmap.h"

#define FEW 8

struct entry {
	uint32_t stack, alloc;
	uint32_t stamp;		/* of the put; wraps */
};

struct released {
	struct addrmap map;	/* address -> struct entry */
	size_t limit;		/* bytes */
	size_t hand;		/* where the next few begin */
	uint32_t stamp;
	uint64_t forgotten;
};

int released_new(size_t limit_bytes, struct released **out)
{
	struct released *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	addrmap_init(&r->map, sizeof(struct entry));
	r->limit = limit_bytes;
	*out = r;
	return 0;
}

void released_free(struct released *r)
{
	if (!r)
		return;
	addrmap_fini(&r->map);
	free(r);
}

static void forget_oldest_of_few(struct released *r)
{
	uint64_t key, oldest = 0;
	uint32_t age = 0;
	bool found = false;
	void *value;

	for (int i = 0; i < FEW; i++) {
		if (!addrmap_next(&r->map, &r->hand, &key, &value)) {
			r->hand = 0;
			continue;
		}
		const struct entry *e = value;
		if (!found || r->stamp - e->stamp > age) {
			oldest = key;
			age = r->stamp - e->stamp;
		}
		found = true;
	}
	if (found && addrmap_del(&r->map, oldest, NULL))
		r->forgotten++;
}

/* The map doubles at three quarters; while it does, both the old and the new one exist. */
static bool is_full(const struct released *r)
{
	size_t bytes = addrmap_memory(&r->map);

	return bytes && bytes * 3 > r->limit && addrmap_count(&r->map) + 1 > (r->map.mask + 1) / 4 * 3;
}

static void forget_one(struct released *r)
{
	size_t count = addrmap_count(&r->map);

	while (count && addrmap_count(&r->map) == count)
		forget_oldest_of_few(r);
}

static struct entry *room_for(struct released *r, taddr addr)
{
	struct entry *e = addrmap_get(&r->map, addr);

	if (e)
		return e;
	if (is_full(r))
		forget_one(r);
	e = addrmap_slot(&r->map, addr, NULL);
	if (e)
		return e;
	forget_one(r);
	return addrmap_slot(&r->map, addr, NULL);
}

void released_put(struct released *r, taddr addr, const struct released_by *by)
{
	struct entry *e = room_for(r, addr);

	if (e)
		*e = (struct entry){ by->stack, by->alloc, ++r->stamp };
	else
		r->forgotten++;
}

bool released_get(const struct released *r, taddr addr, struct released_by *by)
{
	const struct entry *e = addrmap_get(&r->map, addr);

	if (e && by)
		*by = (struct released_by){ e->stack, e->alloc };
	return e;
}

void released_remove(struct released *r, taddr addr)
{
	addrmap_del(&r->map, addr, NULL);
}

/* The memory goes, too: while hits are being lost it is cleared for each, and to clear it costs what it has. */
void released_clear(struct released *r)
{
	if (!addrmap_count(&r->map))
		return;
	addrmap_fini(&r->map);
	addrmap_init(&r->map, sizeof(struct entry));
	r->hand = 0;
}

uint64_t released_forgotten(const struct released *r)
{
	return r->forgotten;
}

size_t released_memory(const struct released *r)
{
	return sizeof(*r) + addrmap_memory(&r->map);
}

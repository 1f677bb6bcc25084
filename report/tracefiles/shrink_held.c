/* SPDX-License-Identifier: MIT */
/* shrink_held: see shrink_parts.h. */
#include "report/tracefiles/shrink_parts.h"

#include <errno.h>
#include <stdlib.h>

#define USES_AT_ONCE 1000	/* of an object, in one record */
#define KEY_MEANWHILE UINT64_MAX	/* of a block put aside for a moment; no thread has this key */

/* --- blocks --- */

static int compare_numbers(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

	return a < b ? -1 : a > b;
}

static void put_held(struct shrink *s, taddr addr, const struct live_block *b)
{
	const struct fact f = {
		.kind = MMT_HELD, .time_us = s->l->now_us,
		.block = { .addr = addr, .size = b->size, .birth_us = b->birth_us,
			   .stack = shrink_stack(s, b->stack) },
	};

	shrink_put(s, &f);
}

void shrink_put_blocks(struct shrink *s, uint32_t family)
{
	const struct live *live = s->l->books[family].live;
	cleanup_free taddr *addrs = calloc(live_count(live) + 1, sizeof(*addrs));
	struct live_block b;
	size_t n = 0;

	if (!addrs) {
		s->err = s->err ? s->err : -ENOMEM;
		return;
	}
	for (size_t at = 0; live_next(live, &at, &addrs[n], &b);)
		n++;
	qsort(addrs, n, sizeof(*addrs), compare_numbers);
	for (size_t i = 0; i < n && s->err == 0; i++)
		if (live_get(live, addrs[i], &b))
			put_held(s, addrs[i], &b);
}

/* --- objects --- */

/*
 * @n uses from @first on. Uses that do not fit into one record follow in further records of the same object.
 */
static void put_uses(struct shrink *s, taddr addr, const struct object *o, uint32_t first, uint32_t n)
{
	struct fact_use uses[USES_AT_ONCE];
	struct fact f = {
		.kind = MMT_OBJECT, .time_us = s->l->now_us,
		.object = { .addr = addr, .birth_us = o->birth_us, .older = first || o->older, .uses = uses,
			    .nuses = n },
	};

	for (uint32_t i = 0; i < n; i++) {
		const struct object_use *u = &o->uses[first + i];

		uses[i] = (struct fact_use){ shrink_stack(s, u->stack), u->acquired, u->released };
	}
	if (!first) {
		f.object.net = o->net;
		f.object.counted = o->counted;
	}
	shrink_put(s, &f);
}

static void put_object(struct shrink *s, taddr addr, const struct object *o)
{
	uint32_t first = 0, n;

	do {
		n = o->nuses - first < USES_AT_ONCE ? o->nuses - first : USES_AT_ONCE;
		put_uses(s, addr, o, first, n);
		first += n;
	} while (first < o->nuses);
}

void shrink_put_objects(struct shrink *s, uint32_t family)
{
	const struct objects *os = s->l->books[family].objects;
	cleanup_free taddr *addrs = calloc(objects_count(os) + 1, sizeof(*addrs));
	const struct object *o;
	size_t n = 0;

	if (!addrs) {
		s->err = s->err ? s->err : -ENOMEM;
		return;
	}
	for (size_t at = 0; objects_next(os, &at, &addrs[n], &o);)
		n++;
	qsort(addrs, n, sizeof(*addrs), compare_numbers);
	for (size_t i = 0; i < n && s->err == 0; i++)
		put_object(s, addrs[i], objects_get(os, addrs[i]));
}

/* --- blocks put aside --- */

static void put_aside_event(struct shrink *s, uint32_t kind, taddr addr, uint64_t key)
{
	const struct fact f = { .kind = kind, .time_us = s->l->now_us,
				.block = { .addr = addr, .key = key } };

	shrink_put(s, &f);
}

/* A block of an earlier piece may be at this address again: it is put aside while this one is written. */
static void put_aside(struct shrink *s, uint64_t key)
{
	const struct ledger_aside *a = addrmap_get(&s->l->aside, key);

	shrink_put_family(s, s->l->now_us, a->family);
	put_aside_event(s, MMT_ASIDE, a->addr, KEY_MEANWHILE);
	if (a->held) {
		put_held(s, a->addr, &a->block);
		shrink_put_verdict(s, a->family, a->addr, a->block.verdict);
	}
	put_aside_event(s, MMT_ASIDE, a->addr, key);
	put_aside_event(s, MMT_ASIDE_BACK, 0, KEY_MEANWHILE);
}

void shrink_put_aside(struct shrink *s)
{
	struct addrmap *aside = &s->l->aside;
	cleanup_free uint64_t *keys = calloc(addrmap_count(aside) + 1, sizeof(*keys));
	size_t n = 0;
	void *value;

	if (!keys) {
		s->err = s->err ? s->err : -ENOMEM;
		return;
	}
	for (size_t at = 0; addrmap_next(aside, &at, &keys[n], &value);)
		n += !((const struct ledger_aside *)value)->orphan;
	qsort(keys, n, sizeof(*keys), compare_numbers);
	for (size_t i = 0; i < n; i++)
		put_aside(s, keys[i]);
}

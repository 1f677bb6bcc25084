/* SPDX-License-Identifier: MIT */
/*
 * ledger_blocks: passes each event to the part that handles it, and handles those of blocks: each changes a
 * block, its place and the totals by the same amount.
 *
 * The totals are the sums over all places, plus what no place has: frees of older blocks, and double frees. A
 * place's series is advanced to now before its bytes change.
 */
#include <errno.h>

#include "report/ledger/ledger_parts.h"

static void hold(struct ledger *l, struct place *p, uint64_t size, uint64_t weight)
{
	p->blocks += weight;
	p->bytes += weight * size;
	l->held_blocks += weight;
	l->held_bytes += weight * size;
}

static void let_go(struct ledger *l, struct place *p, uint64_t size, uint64_t weight)
{
	p->blocks -= weight;
	p->bytes -= weight * size;
	l->held_blocks -= weight;
	l->held_bytes -= weight * size;
}

static void count_free(struct ledger *l, struct place *p, taddr addr, const struct live_block *b)
{
	const uint64_t weight = ledger_weight(l, addr, b);

	p->frees += weight;
	l->frees += weight;
}

/* Subtract a live block, which was already removed from the table. Its place in @out, unless that is NULL. */
static int leave(struct ledger *l, taddr addr, const struct live_block *b, struct place **out)
{
	struct place *p = ledger_place_now(l, l->family, b->stack);

	if (!p)
		return -ENOMEM;
	let_go(l, p, b->size, ledger_weight(l, addr, b));
	if (out)
		*out = p;
	return 0;
}

static int enter(struct ledger *l, taddr addr, const struct live_block *b)
{
	struct place *p = ledger_place_now(l, l->family, b->stack);
	struct live_block old;
	int r = p ? live_put(l->books[l->family].live, addr, b, &old) : -ENOMEM;

	if (r < 0)
		return r;
	hold(l, p, b->size, ledger_weight(l, addr, b));
	if (r == 0)
		return ledger_older_displaced(l, addr, b->stack);
	l->displaced++;
	return leave(l, addr, &old, NULL);
}

/* --- events --- */

static int take_alloc(struct ledger *l, const struct fact *f)
{
	struct live_block b = { .size = f->block.size, .birth_us = l->now_us };
	const uint64_t weight = ledger_weight(l, f->block.addr, &b);
	int r = ledger_stack(l, f->block.stack, &b.stack);

	if (r == 0)
		r = enter(l, f->block.addr, &b);
	if (r < 0)
		return r;
	l->books[l->family].places[b.stack].allocs += weight;
	l->books[l->family].places[b.stack].allocated_bytes += weight * b.size;
	l->allocs += weight;
	return 0;
}

static int take_held(struct ledger *l, const struct fact *f)
{
	struct live_block b = {
		.size = f->block.size,
		.birth_us = f->block.birth_us < l->now_us ? f->block.birth_us : l->now_us,
	};
	int r = ledger_stack(l, f->block.stack, &b.stack);

	return r < 0 ? r : enter(l, f->block.addr, &b);
}

/* @by: number of the stack that freed it, + 1, or FACT_NONE. */
static int count_freed(struct ledger *l, uint32_t family, taddr addr, const struct live_block *b, uint32_t by)
{
	const uint64_t weight = ledger_weight(l, addr, b);
	struct addrmap *all = &l->books[family].freed;
	struct ledger_freed *its;
	uint32_t stack;
	uint64_t key;
	int r = ledger_stack_or_none(l, by, &stack);

	if (r < 0 || stack == DEFS_NONE)
		return r;
	key = (uint64_t)b->stack << 32 | stack;
	if (addrmap_count(all) >= LEDGER_FREED_MAX && !addrmap_get(all, key))
		return 0;
	its = addrmap_slot(all, key, NULL);
	if (!its)
		return -ENOMEM;
	its->blocks += weight;
	its->bytes += weight * b->size;
	return 0;
}

static int take_free(struct ledger *l, taddr addr, uint32_t by)
{
	struct live_block b;
	struct place *p;

	if (!live_take(l->books[l->family].live, addr, &b))
		return ledger_older_released(l, addr);
	if (leave(l, addr, &b, &p) < 0)
		return -ENOMEM;
	count_free(l, p, addr, &b);
	return count_freed(l, l->family, addr, &b, by);
}

static int take_forget(struct ledger *l, taddr addr)
{
	struct live_block b;

	if (!live_take(l->books[l->family].live, addr, &b))
		return ledger_older_forgotten(l, addr);
	return leave(l, addr, &b, NULL);
}

/* --- aside --- */

static int take_aside(struct ledger *l, const struct fact *f)
{
	struct ledger_aside a = { .addr = f->block.addr, .family = l->family };
	int r;

	a.held = live_take(l->books[l->family].live, a.addr, &a.block);
	r = a.held ? leave(l, a.addr, &a.block, NULL) : ledger_older_aside(l, a.addr, f->block.key, &a);
	/* if the key is in use already, the end of the other block was lost */
	return r < 0 ? r : addrmap_put(&l->aside, f->block.key, &a);
}

static int take_aside_freed(struct ledger *l, uint64_t key, uint32_t by)
{
	struct ledger_aside a;

	if (!addrmap_del(&l->aside, key, &a))
		return ledger_older_aside_freed(l, key, NULL);
	if (!a.held)
		return ledger_older_aside_freed(l, key, &a);
	count_free(l, &l->books[a.family].places[a.block.stack], a.addr, &a.block);
	return count_freed(l, a.family, a.addr, &a.block, by);
}

/* Put back the block that a realloc had removed, unless another block is there by now. */
static int put_back(struct ledger *l, const struct ledger_aside *a)
{
	uint32_t family = l->family;
	int r;

	if (live_get(l->books[a->family].live, a->addr, NULL)) {
		l->nonsense++;
		return 0;
	}
	l->family = a->family;
	r = enter(l, a->addr, &a->block);
	l->family = family;
	return r;
}

static int take_aside_back(struct ledger *l, uint64_t key)
{
	struct ledger_aside a;

	if (!addrmap_del(&l->aside, key, &a))
		return ledger_older_aside_back(l, key, NULL);
	if (!a.held)
		return ledger_older_aside_back(l, key, &a);
	return put_back(l, &a);
}

static void take_family(struct ledger *l, uint32_t number)
{
	uint32_t index = defs_family(&l->defs, number);

	if (index == DEFS_NONE)
		l->undefined++;
	l->family = index == DEFS_NONE ? 0 : index;
}

static bool is_of_objects(const struct ledger *l)
{
	return l->defs.families[l->family].refs;
}

/* The family of a block that was put aside is found by its key. */
static bool fits_family(const struct ledger *l, uint32_t kind)
{
	switch (kind) {
	case MMT_FAMILY:
	case MMT_TIME:
	case MMT_FORGET:
	case MMT_ASIDE_FREED:
	case MMT_ASIDE_BACK:
		return true;
	case MMT_REF:
	case MMT_UNREF:
	case MMT_BORN:
	case MMT_COUNTED:
	case MMT_OBJECT:
		return is_of_objects(l);
	default:
		return !is_of_objects(l);
	}
}

static int take_event(struct ledger *l, const struct fact *f)
{
	switch (f->kind) {
	case MMT_ALLOC:
		return take_alloc(l, f);
	case MMT_FREE:
		return take_free(l, f->block.addr, FACT_NONE);
	case MMT_FREE_AT:
		return take_free(l, f->block.addr, f->block.stack + 1);
	case MMT_OLD:
		l->frees++;
		l->unmatched_frees++;
		return 0;
	case MMT_TWICE:
		return ledger_take_twice(l, f);
	case MMT_ASIDE:
		return take_aside(l, f);
	case MMT_ASIDE_FREED:
		return take_aside_freed(l, f->block.key, f->block.stack);
	case MMT_ASIDE_BACK:
		return take_aside_back(l, f->block.key);
	case MMT_FORGET:
		return is_of_objects(l) ? ledger_forget_object(l, f->block.addr)
					: take_forget(l, f->block.addr);
	case MMT_HELD:
		return take_held(l, f);
	case MMT_FAMILY:
		take_family(l, f->family);
		return 0;
	case MMT_REF:
	case MMT_UNREF:
	case MMT_BORN:
	case MMT_COUNTED:
	case MMT_OBJECT:
		return ledger_take_ref(l, f);
	case MMT_TIME:
		return 0;
	default:
		l->nonsense++;
		return 0;
	}
}

int ledger_take_event(struct ledger *l, const struct fact *f)
{
	if (fits_family(l, f->kind))
		return take_event(l, f);
	l->nonsense++;
	return 0;
}

int ledger_settle(struct ledger *l)
{
	struct addrmap *aside = &l->aside;
	uint64_t key;
	void *value;
	int r = 0;

	for (size_t i = 0; r == 0 && addrmap_next(aside, &i, &key, &value);) {
		const struct ledger_aside *a = value;

		/* the address was allocated again meanwhile: so the block was freed unseen */
		if (!a->held || live_get(l->books[a->family].live, a->addr, NULL))
			continue;
		r = put_back(l, a);
		l->resizing++;
	}
	addrmap_clear(aside);
	return r;
}

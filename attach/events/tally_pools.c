/* SPDX-License-Identifier: MIT */
#include "attach/events/tally_pools.h"

/* No address has this bit: the old block of a realloc under way, by family and thread. */
#define ASIDE (1ull << 63)

static bool has_pools(const struct tally *t, const struct tallied *x)
{
	return t->planting->set->families[x->family].pools;
}

static uint64_t aside_key(const struct tallied *x)
{
	return ASIDE | (uint64_t)x->family << 48 | x->hit->head.tid;
}

static void store(struct tally *t, int rc)
{
	t->out_of_memory |= rc < 0;
}

/* --- what is freed with a pool --- */

struct emptying {
	struct tally *t;
	const struct tallied *x;
	bool any;
	uint32_t by;		/* the stack that frees: number + 1 or FACT_NONE; valid if there were any */
};

static void free_member(void *ctx, uint64_t key)
{
	struct emptying *e = ctx;

	if (!e->any)
		e->by = tallied_freeing_stack(e->t, e->x);
	e->any = true;
	if (!(key & ASIDE))
		tallied_free_with_pool(e->t, e->x, tallied_key(e->x, key), e->by);
}

static void empty(struct tally *t, const struct tallied *x, uint64_t key)
{
	struct emptying e = { .t = t, .x = x };

	pools_empty(&t->pools, key, free_member, &e);
}

static void empty_shallow(struct tally *t, const struct tallied *x, uint64_t key)
{
	struct emptying e = { .t = t, .x = x };

	pools_empty_shallow(&t->pools, key, free_member, &e);
}

static void remove_key(struct tally *t, const struct tallied *x, uint64_t key)
{
	empty(t, x, key);
	pools_remove(&t->pools, key);
}

void tally_pools_freed(struct tally *t, const struct tallied *x, taddr addr)
{
	if (has_pools(t, x))
		remove_key(t, x, tallied_key(x, addr));
}

/* --- blocks that are made --- */

/* The pool that the call names, as a key. NULL: none. */
static const uint64_t *named_pool(const struct tallied *x, uint64_t *key)
{
	taddr pool;

	if (!x->rule->pool.n || !rule_values_get(&x->values, &x->rule->pool, &pool) || !pool)
		return NULL;
	*key = tallied_key(x, pool);
	return key;
}

static void put(struct tally *t, const struct tallied *x, taddr addr, bool is_pool)
{
	uint64_t pool;

	store(t, pools_put(&t->pools, tallied_key(x, addr), named_pool(x, &pool), is_pool));
}

/* It was freed, and is not a new one since. */
static bool is_gone(const struct tally *t, const struct tallied *x, uint64_t pool)
{
	struct released_by by;

	return !pools_has(&t->pools, pool) &&
	       tallied_freed_before(t, x, tallied_key(x, pool), &by) != FREED_NOT;
}

bool tally_pools_made(struct tally *t, const struct tallied *x, taddr addr)
{
	uint64_t pool;

	if (!has_pools(t, x))
		return true;
	tally_pools_freed(t, x, addr);
	if (named_pool(x, &pool) && is_gone(t, x, pool))
		return false;
	put(t, x, addr, x->rule->op == RULE_POOL);
	return true;
}

void tally_pools_resize(struct tally *t, const struct tallied *x, taddr old)
{
	if (has_pools(t, x))
		store(t, pools_rename(&t->pools, tallied_key(x, old), aside_key(x)));
}

bool tally_pools_resized(struct tally *t, const struct tallied *x, taddr old, taddr now)
{
	const uint64_t to = tallied_key(x, now);
	uint64_t from = aside_key(x), pool;

	if (!has_pools(t, x))
		return true;
	/* its beginning was not seen */
	if (!pools_has(&t->pools, from))
		from = tallied_key(x, old);
	if (!now) {
		remove_key(t, x, from);
	} else if (pools_has(&t->pools, from)) {
		if (from != to)
			remove_key(t, x, to);
		store(t, pools_rename(&t->pools, from, to));
	} else {
		return named_pool(x, &pool) && tally_pools_made(t, x, now);
	}
	return true;
}

/* --- reset, move --- */

/* The pool that the call is about. false: the call means nothing, or that could not be read. */
static bool is_about(struct tally *t, const struct tallied *x, taddr *ptr)
{
	enum rule_values_holds holds = rule_values_hold(&x->values);

	if (x->hit->head.flags & RECORD_OPENS || holds == HOLDS_NOT)
		return false;
	/* an exit without an entry: of another function with the same end */
	if (!x->values.args && rule_needs_args(x->rule))
		return false;
	if (holds == HOLDS && rule_values_get(&x->values, &x->rule->ptr, ptr))
		return *ptr != 0;
	tallied_unread(t, x);
	return false;
}

void tally_reset(struct tally *t, const struct tallied *x)
{
	uint64_t children;
	taddr ptr;

	if (!is_about(t, x, &ptr))
		return;
	if (!rule_values_get(&x->values, &x->rule->children, &children)) {
		tallied_unread(t, x);
		return;
	}
	if (t->counting)
		tallied_count(t, x);
	if (children)
		empty(t, x, tallied_key(x, ptr));
	else
		empty_shallow(t, x, tallied_key(x, ptr));
}

void tally_move(struct tally *t, const struct tallied *x)
{
	uint64_t pool;
	taddr ptr;

	if (!is_about(t, x, &ptr))
		return;
	if (!rule_values_get(&x->values, &x->rule->pool, &pool)) {
		tallied_unread(t, x);
		return;
	}
	if (t->counting)
		tallied_count(t, x);
	put(t, x, ptr, false);
}

/* SPDX-License-Identifier: MIT */
#include "attach/events/tally_pools.h"

#include <limits.h>

/* A hit takes some microseconds, and this adds one or two. */
#define WORK_AT_HIT 16

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

static void free_member(struct tally *t, const struct tallied *x, uint64_t key, uint32_t by)
{
	struct tallied member = *x;

	member.family = (uint32_t)(key >> 48);
	if (member.family < t->planting->set->nfamilies)
		tallied_free_with_pool(t, &member, tallied_key(&member, key), by);
}

static void free_members(struct tally *t, const struct tallied *x, unsigned most)
{
	uint64_t key;
	uint32_t by;

	while (most-- && pools_next(&t->pools, &key, &by))
		free_member(t, x, key, by);
}

void tally_pools_work(struct tally *t, const struct tallied *x)
{
	t->pools_ns = x->hit->head.time_ns;
	free_members(t, x, WORK_AT_HIT);
}

bool tally_pools_idle(struct tally *t, unsigned most)
{
	const struct record_hit hit = { .head = { .time_ns = t->pools_ns } };
	const struct tallied x = { .hit = &hit };

	free_members(t, &x, most);
	return pools_any_condemned(&t->pools);
}

void tally_pools_settle(struct tally *t)
{
	while (tally_pools_idle(t, UINT_MAX))
		;
}

/* In how many pools it lies may be the length of a list: that is not climbed at every hit. */
static void settle_deep(struct tally *t, uint64_t key)
{
	if (pools_is_deep(&t->pools, key))
		tally_pools_settle(t);
}

/* It is condemned, and there is no time to lose. */
static void settle_one(struct tally *t, const struct tallied *x, uint64_t key)
{
	uint32_t by;

	settle_deep(t, key);
	if (pools_is_condemned(&t->pools, key, &by))
		free_member(t, x, key, by);
}

static void remove_key(struct tally *t, const struct tallied *x, uint64_t key)
{
	settle_one(t, x, key);
	if (pools_is_empty(&t->pools, key))
		pools_remove(&t->pools, key);
	else
		store(t, pools_condemn(&t->pools, key, false, tallied_freeing_stack(t, x)));
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
static bool is_gone(struct tally *t, const struct tallied *x, uint64_t pool)
{
	struct released_by by;

	settle_deep(t, pool);
	if (pools_has(&t->pools, pool))
		return pools_is_condemned(&t->pools, pool, NULL);
	return tallied_freed_before(t, x, tallied_key(x, pool), &by) != FREED_NOT;
}

bool tally_pools_made(struct tally *t, const struct tallied *x, taddr addr)
{
	uint64_t pool;

	if (!has_pools(t, x))
		return true;
	tally_pools_freed(t, x, addr);
	if (named_pool(x, &pool) && is_gone(t, x, pool)) {
		t->from_freed += x->in_scope;
		return false;
	}
	put(t, x, addr, x->rule->op == RULE_POOL);
	return true;
}

void tally_pools_resize(struct tally *t, const struct tallied *x, taddr old)
{
	if (!has_pools(t, x))
		return;
	/* of an earlier realloc of which the end was lost */
	remove_key(t, x, aside_key(x));
	settle_deep(t, tallied_key(x, old));
	if (!pools_is_condemned(&t->pools, tallied_key(x, old), NULL))
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
	uint64_t children, key;
	uint32_t by;
	taddr ptr;

	if (!is_about(t, x, &ptr))
		return;
	key = tallied_key(x, ptr);
	if (!rule_values_get(&x->values, &x->rule->children, &children)) {
		tallied_unread(t, x);
		return;
	}
	if (t->counting)
		tallied_count(t, x);
	by = pools_is_empty(&t->pools, key) ? FACT_NONE : tallied_freeing_stack(t, x);
	if (children)
		store(t, pools_condemn(&t->pools, key, true, by));
	else
		store(t, pools_condemn_blocks(&t->pools, key, by));
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
	/* a function that destroys a pool takes it out of the one around it first */
	if (!is_gone(t, x, tallied_key(x, ptr)))
		put(t, x, ptr, false);
}

/* SPDX-License-Identifier: MIT */
/* pools: see pools.h. The members of a pool are a list, linked both ways: each can leave it at once. */
#include "attach/events/pools.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"

struct pool_node {
	uint64_t key;
	uint32_t pool;		/* the node that it lies in */
	uint32_t first;		/* of its members; of a free node: the next free one */
	uint32_t next, before;	/* among the members of its pool */
	uint32_t by;		/* of a pool that was condemned */
	bool is_pool;
	bool nameless;		/* its key is not in the table: a pool that was condemned */
};

void pools_init(struct pools *p)
{
	*p = (struct pools){ 0 };
	addrmap_init(&p->numbers, sizeof(uint32_t));
}

void pools_fini(struct pools *p)
{
	addrmap_fini(&p->numbers);
	free(p->nodes);
	pools_init(p);
}

size_t pools_count(const struct pools *p)
{
	return addrmap_count(&p->numbers);
}

/* The number of @key's node, or 0. */
static uint32_t find(const struct pools *p, uint64_t key)
{
	const uint32_t *number = addrmap_get(&p->numbers, key);

	return number ? *number : 0;
}

bool pools_has(const struct pools *p, uint64_t key)
{
	return find(p, key) != 0;
}

/* --- nodes --- */

/* A node that is in no list, or 0: no memory. */
static uint32_t new_node(struct pools *p, uint64_t key)
{
	uint32_t number = p->unused;

	if (number) {
		p->unused = p->nodes[number].first;
	} else {
		if (p->n == 0)
			p->n = 1;
		if (p->n == UINT32_MAX || grow_for(&p->nodes, p->n, &p->size, sizeof(*p->nodes)) < 0)
			return 0;
		number = (uint32_t)p->n++;
	}
	p->nodes[number] = (struct pool_node){ .key = key };
	return number;
}

static void free_node(struct pools *p, uint32_t number)
{
	p->nodes[number].first = p->unused;
	p->unused = number;
}

/* The node of @key, a new one if there is none; 0: no memory. */
static uint32_t find_or_add(struct pools *p, uint64_t key)
{
	uint32_t number = find(p, key);

	if (number)
		return number;
	number = new_node(p, key);
	if (number && addrmap_put(&p->numbers, key, &number) < 0) {
		free_node(p, number);
		return 0;
	}
	return number;
}

/* --- the tree --- */

static void leave_pool(struct pools *p, uint32_t number)
{
	struct pool_node *n = &p->nodes[number];

	p->at = 0;
	if (!n->pool)
		return;
	if (n->before)
		p->nodes[n->before].next = n->next;
	else
		p->nodes[n->pool].first = n->next;
	if (n->next)
		p->nodes[n->next].before = n->before;
	n->pool = n->next = n->before = 0;
}

static void enter_pool(struct pools *p, uint32_t number, uint32_t pool)
{
	struct pool_node *n = &p->nodes[number], *to = &p->nodes[pool];

	n->pool = pool;
	n->next = to->first;
	if (n->next)
		p->nodes[n->next].before = number;
	to->first = number;
	to->is_pool = true;
}

/* Or is it @pool? For a new block, in which nothing lies yet, there is nothing to walk. */
static bool lies_in(const struct pools *p, uint32_t number, uint32_t pool)
{
	if (!p->nodes[pool].first)
		return number == pool;
	while (number && number != pool)
		number = p->nodes[number].pool;
	return number != 0;
}

int pools_put(struct pools *p, uint64_t key, const uint64_t *pool, bool is_pool)
{
	uint32_t number = find_or_add(p, key), to = 0;

	if (!number)
		return -ENOMEM;
	p->nodes[number].is_pool |= is_pool;
	leave_pool(p, number);
	if (!pool)
		return 0;
	to = find_or_add(p, *pool);
	if (!to)
		return -ENOMEM;
	if (!lies_in(p, to, number))
		enter_pool(p, number, to);
	return 0;
}

static void remove_node(struct pools *p, uint32_t number)
{
	leave_pool(p, number);
	while (p->nodes[number].first)
		leave_pool(p, p->nodes[number].first);
	if (!p->nodes[number].nameless)
		addrmap_del(&p->numbers, p->nodes[number].key, NULL);
	free_node(p, number);
}

void pools_remove(struct pools *p, uint64_t key)
{
	uint32_t number = find(p, key);

	if (number)
		remove_node(p, number);
}

int pools_rename(struct pools *p, uint64_t from, uint64_t to)
{
	uint32_t number = find(p, from);

	if (!number || from == to)
		return 0;
	if (addrmap_put(&p->numbers, to, &number) < 0)
		return -ENOMEM;
	addrmap_del(&p->numbers, from, NULL);
	p->nodes[number].key = to;
	return 0;
}

bool pools_is_empty(const struct pools *p, uint64_t key)
{
	uint32_t number = find(p, key);

	return !number || !p->nodes[number].first;
}

/* --- condemned --- */

static uint32_t condemned_root(struct pools *p)
{
	if (!p->condemned)
		p->condemned = new_node(p, 0);
	return p->condemned;
}

/* A new node takes the name, and the place in the tree, of @number. NULL: no memory. */
static struct pool_node *replace_name(struct pools *p, uint32_t number)
{
	uint32_t fresh = new_node(p, p->nodes[number].key), around = p->nodes[number].pool;

	if (!fresh)
		return NULL;
	/* it is in the table, so this needs no memory */
	*(uint32_t *)addrmap_get(&p->numbers, p->nodes[number].key) = fresh;
	p->nodes[fresh].is_pool = true;
	if (around)
		enter_pool(p, fresh, around);
	return &p->nodes[fresh];
}

int pools_condemn(struct pools *p, uint64_t key, bool stays, uint32_t by)
{
	const uint32_t number = find(p, key), root = condemned_root(p);

	if (!root)
		return -ENOMEM;
	if (!number || (stays && !p->nodes[number].first))
		return 0;
	if (!stays)
		addrmap_del(&p->numbers, key, NULL);
	else if (!replace_name(p, number))
		return -ENOMEM;
	p->nodes[number].nameless = true;
	p->nodes[number].by = by;
	leave_pool(p, number);
	enter_pool(p, number, root);
	return 0;
}

int pools_condemn_blocks(struct pools *p, uint64_t key, uint32_t by)
{
	const uint32_t number = find(p, key);
	uint32_t next, fresh;
	int rc = pools_condemn(p, key, true, by);

	fresh = find(p, key);
	if (rc < 0 || fresh == number)
		return rc;
	for (uint32_t at = p->nodes[number].first; at; at = next) {
		next = p->nodes[at].next;
		if (!p->nodes[at].is_pool)
			continue;
		leave_pool(p, at);
		enter_pool(p, at, fresh);
	}
	return 0;
}

bool pools_any_condemned(const struct pools *p)
{
	return p->condemned && p->nodes[p->condemned].first;
}

#define CLIMB_MAX 4096

bool pools_is_deep(const struct pools *p, uint64_t key)
{
	uint32_t number = pools_any_condemned(p) ? find(p, key) : 0;

	for (unsigned n = 0; number && n < CLIMB_MAX; n++)
		number = p->nodes[number].pool;
	return number != 0;
}

bool pools_is_condemned(const struct pools *p, uint64_t key, uint32_t *by)
{
	uint32_t number = find(p, key);

	if (!number || !pools_any_condemned(p))
		return false;
	while (p->nodes[number].pool && p->nodes[number].pool != p->condemned)
		number = p->nodes[number].pool;
	if (by)
		*by = p->nodes[number].by;
	return p->nodes[number].pool == p->condemned;
}

/* Remove the innermost condemned node. It is @gone, as it was. */
static void remove_next(struct pools *p, struct pool_node *gone)
{
	uint32_t at = p->at;

	if (!at) {
		at = p->nodes[p->condemned].first;
		p->by = p->nodes[at].by;
	}
	while (p->nodes[at].first)
		at = p->nodes[at].first;
	*gone = p->nodes[at];
	remove_node(p, at);
	p->at = gone->pool == p->condemned ? 0 : gone->pool;
}

bool pools_next(struct pools *p, uint64_t *key, uint32_t *by)
{
	struct pool_node gone;

	while (p->condemned && p->nodes[p->condemned].first) {
		remove_next(p, &gone);
		if (gone.nameless)
			continue;
		*key = gone.key;
		*by = p->by;
		return true;
	}
	return false;
}

/* SPDX-License-Identifier: MIT */
/*
 * pools: which block lies in which pool, as a tree: what is freed when a pool is.
 *
 *	TopMemoryContext            a pool in a pool dies with it
 *	├── MessageContext ── block
 *	└── block
 *
 * Keys are the caller's: an address and its family. A key is a pool if the caller says so, or once something
 * lies in it: with talloc every block may be the pool of others. A pool of which only a block in it was seen
 * is in the tree, too, with no pool around it that is known.
 *
 * Nodes are in one array and refer to each other by number, so one takes 40 bytes, its entry in the table
 * included. Nothing here recurses, and emptying a pool takes as long as there are blocks in it, however deep
 * they lie.
 *
 * Pure: what a key stands for is in tally_pools.h.
 */
#ifndef MM_POOLS_H
#define MM_POOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addrmap.h"
#include "base/cleanup.h"

struct pool_node;

struct pools {
	struct addrmap numbers;		/* key -> number of its node */
	struct pool_node *nodes;	/* number 0 stands for none */
	size_t n, size;
	uint32_t unused;		/* the first node that is free again, or 0 */
};

void pools_init(struct pools *p);
void pools_fini(struct pools *p);

bool pools_has(const struct pools *p, uint64_t key);

/*
 * @key lies in @pool (NULL: in none) from now on; what lies in it comes along. Either is added if it is new;
 * @is_pool: @key is a pool, though nothing may lie in it. A pool that would lie in itself is put in none. 0,
 * or -ENOMEM: then @key may lie in none.
 */
must_check int pools_put(struct pools *p, uint64_t key, const uint64_t *pool, bool is_pool);

/* @from has the key @to now; if @to was in the tree, it is removed first, with all in it. 0 or -ENOMEM. */
must_check int pools_rename(struct pools *p, uint64_t from, uint64_t to);

/* Something in a pool is removed from the tree. Must not change the tree. */
typedef void pools_removed(void *ctx, uint64_t key);

/* Remove all that lies in @key, at any depth, innermost first. @key itself stays. */
void pools_empty(struct pools *p, uint64_t key, pools_removed *removed, void *ctx);

/* Remove what lies in @key itself, but not pools in it. */
void pools_empty_shallow(struct pools *p, uint64_t key, pools_removed *removed, void *ctx);

/* Remove @key, in which nothing lies any more. If something does, it then lies in none. */
void pools_remove(struct pools *p, uint64_t key);

size_t pools_count(const struct pools *p);

#endif

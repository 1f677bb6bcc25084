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
 * What lies in a pool that is freed may be a million blocks. It is condemned at once, and removed block by
 * block later, as its user finds the time. Until then it can be seen that a block is condemned.
 *
 * Nodes are in one array and refer to each other by number, so one takes some 50 bytes with its entry in the
 * table. Nothing here recurses.
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
	uint32_t condemned;		/* the node in which all that is condemned lies; 0: not made yet */
	uint32_t at, by;		/* what is removed next: a node, or 0: any; and its pools_condemn() */
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

/* @from has the key @to now, which is not in the tree. 0 or -ENOMEM. */
must_check int pools_rename(struct pools *p, uint64_t from, uint64_t to);

/*
 * All that lies in @key, at any depth, is condemned; @stays: @key itself is not, else it is removed. @by:
 * what pools_next() is to say of it. 0, or -ENOMEM: then nothing is condemned.
 */
must_check int pools_condemn(struct pools *p, uint64_t key, bool stays, uint32_t by);

/* The same for what lies in @key itself, but not for pools in it. @key stays. 0 or -ENOMEM. */
must_check int pools_condemn_blocks(struct pools *p, uint64_t key, uint32_t by);

/* @by may be NULL. */
bool pools_is_condemned(const struct pools *p, uint64_t key, uint32_t *by);

bool pools_any_condemned(const struct pools *p);

/* Would pools_is_condemned() of it climb more than some thousand nodes? Not if nothing is condemned. */
bool pools_is_deep(const struct pools *p, uint64_t key);

/* Remove one that is condemned, innermost first. false: there is none. */
bool pools_next(struct pools *p, uint64_t *key, uint32_t *by);

/* Does nothing lie in it? Also true for one that is not in the tree. */
bool pools_is_empty(const struct pools *p, uint64_t key);

/* Remove @key, in which nothing lies any more. If something does, it then lies in none. */
void pools_remove(struct pools *p, uint64_t key);

size_t pools_count(const struct pools *p);

#endif

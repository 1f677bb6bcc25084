/* SPDX-License-Identifier: MIT */
/*
 * addrmap: the only hash table. Key: a 64-bit number (an address, a thread, an index); value: a fixed number
 * of bytes of the caller's choice, 0 for a set.
 *
 *	struct addrmap live;
 *	addrmap_init(&live, sizeof(struct block));
 *	err = addrmap_put(&live, ptr, &block);
 *	struct block *b = addrmap_get(&live, ptr);
 *	addrmap_del(&live, ptr);
 *
 * Open addressing, linear probing, at most 3/4 full; a deletion shifts back what was displaced (no
 * tombstones, so a table that lives for days under churn stays as fast as a new one). Grows by doubling,
 * never shrinks. Keys come from the target, so the hash takes a random seed per table: a target cannot choose
 * addresses that collide.
 *
 * All keys are allowed, 0 too. Not thread-safe.
 */
#ifndef MM_ADDRMAP_H
#define MM_ADDRMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct addrmap {
	uint64_t *keys;
	unsigned char *values;	/* stride bytes each */
	uint8_t *used;		/* a bit per slot */
	size_t stride;
	size_t count;
	size_t mask;		/* slots - 1; slots are a power of two, or none yet (keys == NULL) */
	uint64_t seed;
};

/* Nothing is allocated before the first put. @value_size may be 0. */
void addrmap_init(struct addrmap *m, size_t value_size);
void addrmap_fini(struct addrmap *m);

size_t addrmap_count(const struct addrmap *m);
size_t addrmap_memory(const struct addrmap *m);		/* bytes allocated */

/*
 * Set the value of @key (copied from @value; NULL: zeros), new or not. 0, or -ENOMEM: the map is
 * then as it was.
 */
must_check int addrmap_put(struct addrmap *m, uint64_t key, const void *value);

/*
 * The value of @key, added as zeros if it is new; aligned to 8 if the size is a multiple of 8. NULL if memory
 * is short. @fresh, if not NULL, says whether it is new. Valid until the next put, slot or del.
 */
must_check void *addrmap_slot(struct addrmap *m, uint64_t key, bool *fresh);

/* The value of @key, or NULL. Valid until the next put, slot or del. For a set: not NULL if it is in. */
void *addrmap_get(const struct addrmap *m, uint64_t key);

/* Remove @key, its value into @value if that is not NULL. false if it was not there. */
bool addrmap_del(struct addrmap *m, uint64_t key, void *value);

/* Remove all keys; the memory stays allocated. */
void addrmap_clear(struct addrmap *m);

/*
 * Each entry once, in no order:
 *
 *	for (size_t i = 0; addrmap_next(&m, &i, &key, &value); )
 *
 * The map must not be changed meanwhile (values may). @value may be NULL.
 */
bool addrmap_next(const struct addrmap *m, size_t *i, uint64_t *key, void **value);

#endif

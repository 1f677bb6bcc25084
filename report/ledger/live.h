/* SPDX-License-Identifier: MIT */
/*
 * live: the live blocks: address -> size, stack, time of birth, verdict.
 *
 * There may be tens of millions, so a block takes 20 bytes, and together with free slots less than 32, at any
 * number above some thousands, and also while the table grows: it is divided into many small tables by a part
 * of the hash, and each grows by itself. A block that does not fit into 20 bytes (an address beyond 48 bits,
 * a size of 4 GiB or more, a birth after a year) is stored in a map beside the tables.
 */
#ifndef MM_LIVE_H
#define MM_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/taddr.h"
#include "base/verdict.h"

struct live;

struct live_block {
	uint64_t size;
	uint64_t birth_us;
	uint32_t stack;
	uint8_t verdict;	/* enum verdict; UNKNOWN until it gets one */
};

must_check int live_new(struct live **out);	/* 0 or -ENOMEM */
void live_free(struct live *l);			/* NULL is allowed */

/* 0; 1: a block was live there, it is replaced and returned in @old; -ENOMEM: nothing has changed. */
must_check int live_put(struct live *l, taddr addr, const struct live_block *b, struct live_block *old);

bool live_get(const struct live *l, taddr addr, struct live_block *out);	/* @out may be NULL */
/* Removes it; @out may be NULL. */
bool live_take(struct live *l, taddr addr, struct live_block *out);

/* Set the verdict of the block that is live at @addr. False: there is none. */
bool live_set_verdict(struct live *l, taddr addr, enum verdict verdict);
/* Remove the verdicts of all blocks. */
void live_forget_verdicts(struct live *l);

size_t live_count(const struct live *l);
size_t live_memory(const struct live *l);	/* bytes allocated */

/* Each once, in no order; the table must not change meanwhile. Start with *at = 0. */
bool live_next(const struct live *l, size_t *at, taddr *addr, struct live_block *out);

#endif

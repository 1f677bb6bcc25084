/* SPDX-License-Identifier: MIT */
/*
 * released: addresses that were released and not given out again: who releases one of them again has
 * released it twice. For whoever watches calls; a trace says already what each release was.
 *
 * Of these there may be more than of live blocks, and for ever more of them, so the memory is bounded: where room is
 * wanting, the oldest of a few is forgotten, and counted.
 */
#ifndef MM_RELEASED_H
#define MM_RELEASED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/taddr.h"

struct released;

/* Who released it and who had got it; FACT_NONE or number + 1. */
struct released_by {
	uint32_t stack, alloc;
};

/* At most @limit_bytes are allocated; it begins small. 0 or -ENOMEM. */
must_check int released_new(size_t limit_bytes, struct released **out);
void released_free(struct released *r);		/* NULL is taken */

/* Never fails: want of memory forgets. */
void released_put(struct released *r, taddr addr, const struct released_by *by);
bool released_get(const struct released *r, taddr addr, struct released_by *by);
void released_remove(struct released *r, taddr addr);

/* Events were lost: what was released until now may have been given out again since. */
void released_clear(struct released *r);

uint64_t released_forgotten(const struct released *r);	/* for want of room */
size_t released_memory(const struct released *r);

#endif

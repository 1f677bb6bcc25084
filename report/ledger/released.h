/* SPDX-License-Identifier: MIT */
/*
 * released: addresses that were freed and not allocated again: another free of one of them is a double free.
 * This is for a watch; a trace already says what each free was.
 *
 * There may be more of these than of live blocks, and their number keeps growing, so the memory is bounded:
 * if there is no room, the oldest of a few addresses is forgotten, and counted.
 */
#ifndef MM_RELEASED_H
#define MM_RELEASED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/taddr.h"

struct released;

/* The stacks that freed and that allocated it; FACT_NONE or number + 1. */
struct released_by {
	uint32_t stack, alloc;
};

/* At most @limit_bytes are allocated; it begins small. 0 or -ENOMEM. */
must_check int released_new(size_t limit_bytes, struct released **out);
void released_free(struct released *r);		/* NULL is allowed */

/* Never fails: if out of memory, it forgets. */
void released_put(struct released *r, taddr addr, const struct released_by *by);
bool released_get(const struct released *r, taddr addr, struct released_by *by);
void released_remove(struct released *r, taddr addr);

/* Events were lost: an address that was freed before may have been allocated again since. */
void released_clear(struct released *r);

uint64_t released_forgotten(const struct released *r);	/* for lack of room */
size_t released_memory(const struct released *r);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * objects: the objects of one family whose references do not come out even: address -> net count, and which stacks took
 * and dropped how many. One whose net is 0 is not kept: who takes and drops in turn, a million times a second, has at most one here.
 *
 *	object = birth, net, uses
 *	use    = stack: so many taken, so many dropped
 *
 * An object's uses grow with the different stacks that use it, not with events. They are in order of their stacks. Arrays of
 * uses are taken from chunks, and those that become free are used again: an event costs no allocation.
 */
#ifndef MM_OBJECTS_H
#define MM_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/taddr.h"

struct objects;

struct object_use {
	uint32_t stack;			/* index */
	uint64_t taken, dropped;
};

struct object {
	uint64_t birth_us;		/* of one that is older: when it was first seen */
	int64_t net;			/* not 0 */
	bool older;			/* it was there before the watch: unless it is counted, its net is only what changed since */
	bool counted;			/* the object itself has said so; else the net is what was taken less what was dropped */
	uint32_t nuses;
	struct object_use *uses;
};

must_check int objects_new(struct objects **out);	/* 0 or -ENOMEM */
void objects_free(struct objects *os);			/* NULL is taken */

/* Of NULL, which has no objects, these may be asked too. */
size_t objects_count(const struct objects *os);
size_t objects_memory(const struct objects *os);	/* bytes allocated */
struct object *objects_get(const struct objects *os, taddr addr);	/* or NULL; valid until the next that is added or removed */

/* Each once, in no order; the table must not change meanwhile. Start with *at = 0. */
bool objects_next(const struct objects *os, size_t *at, taddr *addr, const struct object **out);

/* A new one, all of it 0, where there is none. Valid as above. NULL on want of memory. */
must_check struct object *objects_add(struct objects *os, taddr addr);

/* It is gone, and its uses with it. False: there was none. */
bool objects_remove(struct objects *os, taddr addr);

/* The use of @stack, made if there was none: valid until the next one of @o. NULL on want of memory: all is as it was. */
must_check struct object_use *objects_use(struct objects *os, struct object *o, uint32_t stack);

#endif

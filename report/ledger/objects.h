/* SPDX-License-Identifier: MIT */
/*
 * objects: the objects of one family whose net count of references is not 0: address -> net count, and which
 * stacks acquired and released how many. An object whose net count is 0 is not stored: a thread that acquires
 * and releases in turn, a million times a second, has at most one here.
 *
 *	object = birth, net, uses
 *	use    = stack: so many acquired, so many released
 *
 * An object has as many uses as different stacks use it, however many events there are. They are sorted by
 * stack. Arrays of uses are cut from chunks, and free ones are used again: an event costs no allocation.
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
	uint64_t acquired, released;
};

struct object {
	uint64_t birth_us;		/* of an older one: when it was first seen */
	int64_t net;			/* not 0 */
	/* It existed before the watch: unless it is counted, its net is only what changed since. */
	bool older;
	/* The net is the object's own count; else it is references acquired minus released. */
	bool counted;
	uint32_t nuses;
	struct object_use *uses;
};

must_check int objects_new(struct objects **out);	/* 0 or -ENOMEM */
void objects_free(struct objects *os);			/* NULL is allowed */

/* These accept NULL, which has no objects. */
size_t objects_count(const struct objects *os);
size_t objects_memory(const struct objects *os);	/* bytes allocated */
/* Or NULL; valid until the next that is added or removed. */
struct object *objects_get(const struct objects *os, taddr addr);

/* Each once, in no order; the table must not change meanwhile. Start with *at = 0. */
bool objects_next(const struct objects *os, size_t *at, taddr *addr, const struct object **out);

/* Add an object, all of it 0, where there is none. Valid as above. NULL: out of memory. */
must_check struct object *objects_add(struct objects *os, taddr addr);

/* Remove the object and its uses. False: there was none. */
bool objects_remove(struct objects *os, taddr addr);

/*
 * The use of @stack, made if there was none; valid until the next one of @o. NULL: out of memory, and nothing
 * has changed.
 */
must_check struct object_use *objects_use(struct objects *os, struct object *o, uint32_t stack);

#endif

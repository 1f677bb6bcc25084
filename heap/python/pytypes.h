/* SPDX-License-Identifier: MIT */
/*
 * pytypes: the type of a Python object, by its memory alone.
 *
 *	block ──▶ [dict, weak references]   16 bytes, of types that say so (3.11 and later)
 *	          [links of the collector]  16 bytes, of types that say so
 *	          reference count
 *	          type ──▶ its own type ──▶ ... ──▶ "type", whose type is itself
 *	                   name, flags
 *
 * The flags of the type say what is before the object, so a word that happens to be the address of a type is
 * hardly ever taken for an object: it would have to be where this type's objects have it, behind a plausible
 * reference count.
 *
 * Offsets are those of CPython 3.9 to 3.13 on x86-64.
 */
#ifndef MM_PYTYPES_H
#define MM_PYTYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addrmap.h"
#include "base/cleanup.h"
#include "base/intern.h"
#include "base/taddr.h"
#include "heap/snapshot/snapshot.h"
#include "heap/snapshot/snapshot_cursor.h"

#define PYTYPES_NONE 0u

struct pytype {
	taddr at;
	const char *name;	/* "collections.OrderedDict", "shop.Order"; in the pool */
	unsigned before;	/* bytes of a block before the object */
	bool collected;		/* the collector has links before it */
	/* bytes of an object, and of each of its items: behind them a block may have what was there before */
	uint64_t basic, item;
};

struct pytypes {
	const struct snapshot *s;
	struct snapshot_cursor cursor;
	unsigned minor;
	struct pytype *all;	/* number 0 is none */
	size_t n, room;
	struct addrmap numbers;	/* of addresses: of types; PYTYPES_NONE: it is none */
	struct intern pool;
};

struct pyobject {
	uint32_t type;
	bool idle;		/* no references: its memory is kept for the next object of its type */
	bool tracked;		/* in a list of the collector */
};

/* For an interpreter of version 3.@minor. 0 or -ENOMEM. pytypes_fini in any case. */
must_check int pytypes_init(struct pytypes *t, const struct snapshot *s, unsigned minor);
void pytypes_fini(struct pytypes *t);

/* The object in the block of @size bytes at @at; type PYTYPES_NONE: it has none. 0 or -ENOMEM. */
must_check int pytypes_look(struct pytypes *t, taddr at, uint64_t size, struct pyobject *out);

/* How many bytes of the object at @at, which has at most @room, can have pointers. */
uint64_t pytypes_extent(struct pytypes *t, uint32_t type, taddr at, uint64_t room);

/* Does the block begin with what the debug hooks of CPython's allocators put there? */
bool pytypes_has_hooks(struct pytypes *t, taddr at);

#endif

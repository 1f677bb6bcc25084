/* SPDX-License-Identifier: MIT */
/*
 * pyobjects_parts: what the files of pyobjects share. A node is a block: the slots of pymalloc first, by their
 * numbers, then the blocks of malloc.
 */
#ifndef MM_PYOBJECTS_PARTS_H
#define MM_PYOBJECTS_PARTS_H

#include "base/addrmap.h"
#include "heap/python/pymalloc.h"
#include "heap/python/pyobjects.h"
#include "heap/python/pytypes.h"

/* What is known of a node: PLAIN, IDLE, the type of its object, or OWNED | the type of its owner. */
#define PYNODE_PLAIN 0u			/* PYTYPES_NONE */
#define PYNODE_OWNED (1u << 31)
#define PYNODE_IDLE (PYNODE_OWNED - 1)

struct pynode {
	size_t i;
	taddr at;
	uint64_t size;
};

struct pyobjects_run {
	const struct snapshot *s;
	const struct census *c;
	struct pymalloc small;
	struct pytypes types;
	uint32_t *state;		/* of each node */
	size_t nnodes;
	struct pyobjects_type *sums;	/* by number of type, as types.all */
	struct addrmap pointers;	/* type that is pointed to << 32 | type that points -> number */
	struct pyobjects *out;
	size_t hooked, typed;		/* blocks with debug hooks; of a type */
};

/* Call @fn for each node that is not free; stop if it returns less than 0. Returns what the last call did. */
must_check int pynodes_each(struct pyobjects_run *run, int (*fn)(struct pyobjects_run *, const struct pynode *));

/* The node that contains @at. false: none. */
bool pynodes_find(const struct pyobjects_run *run, taddr at, struct pynode *out);

/* Is it an object that is in use? */
static inline bool pynode_is_object(uint32_t state)
{
	return state != PYNODE_PLAIN && state < PYNODE_IDLE;
}

/*
 * Call @fn for the pointers in a node of this state: for all words but an object's reference count, its type
 * and the collector's links that could be addresses. Stop if it returns less than 0.
 */
must_check int pynodes_words(struct pyobjects_run *run, const struct pynode *node,
			     int (*fn)(struct pyobjects_run *, const struct pynode *, taddr, void *), void *ctx);

/* Give blocks to the objects that point to them, and sum up by type. 0 or -ENOMEM. */
must_check int pyowners_find(struct pyobjects_run *run);

/* Count in run->pointers which types point to which. 0 or -ENOMEM. */
must_check int pyholders_count(struct pyobjects_run *run);

#endif

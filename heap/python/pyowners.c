/* SPDX-License-Identifier: MIT */
/*
 * pyowners: blocks that are no objects go to the object that points to them: a list's items, a dict's table,
 * and what these point to. Objects are taken in the order of their addresses, so the same memory always gives
 * the same result.
 *
 * Within pymalloc any pointer into a block counts: the values of an instance are pointed to behind their
 * beginning. Into malloc's blocks only one to the beginning counts; and of these only pieces of one size are
 * followed further (a deque's), or everything that a C library has would go to the object that uses it.
 */
#include <stdlib.h>

#include "base/grow.h"
#include "heap/python/pyobjects_parts.h"

/* The blocks of one object. */
struct own {
	uint32_t type;
	struct pynode *found;
	size_t n, room;
	uint64_t bytes;
};

static bool may_own(const struct pyobjects_run *run, const struct pynode *from, const struct pynode *to, taddr at)
{
	const bool is_large = to->i >= run->small.nslots;

	if (run->state[to->i] != PYNODE_PLAIN)
		return false;
	if (!is_large)
		return true;
	return at == to->at && (!(run->state[from->i] & PYNODE_OWNED) || from->i < run->small.nslots ||
				from->size == to->size);
}

static int own(struct pyobjects_run *run, const struct pynode *from, taddr at, void *ctx)
{
	struct own *o = ctx;
	struct pynode to;

	if (!pynodes_find(run, at, &to) || !may_own(run, from, &to, at))
		return 0;
	if (grow_for(&o->found, o->n, &o->room, sizeof(*o->found)) < 0)
		return -ENOMEM;
	run->state[to.i] = PYNODE_OWNED | o->type;
	o->found[o->n++] = to;
	o->bytes += to.size;
	return 0;
}

static void add_up(struct pyobjects_run *run, const struct pynode *node, const struct own *o)
{
	struct pyobjects_type *sum = &run->sums[o->type];
	const uint64_t bytes = node->size + o->bytes;

	sum->objects++;
	sum->bytes += bytes;
	sum->with.blocks += o->n;
	sum->with.bytes += o->bytes;
	if (bytes > sum->largest_bytes) {
		sum->largest_bytes = bytes;
		sum->largest = node->at + run->types.all[o->type].before;
	}
	if (node->i >= run->small.nslots) {
		run->out->large.blocks++;
		run->out->large.bytes += node->size;
	}
}

static int take_object(struct pyobjects_run *run, const struct pynode *node)
{
	struct own o = { .type = run->state[node->i] };
	int r;

	if (!pynode_is_object(o.type))
		return 0;
	r = pynodes_words(run, node, own, &o);
	for (size_t i = 0; i < o.n && r >= 0; i++) {
		const struct pynode found = o.found[i];

		r = pynodes_words(run, &found, own, &o);
	}
	add_up(run, node, &o);
	free(o.found);
	return r;
}

int pyowners_find(struct pyobjects_run *run)
{
	return pynodes_each(run, take_object);
}

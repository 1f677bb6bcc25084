/* SPDX-License-Identifier: MIT */
/*
 * pyholders: which types point to which. A pointer in a block that belongs to an object is the object's: the
 * items of a list are held by the list.
 */
#include "heap/python/pyobjects_parts.h"

#include <errno.h>
#include <string.h>

static int count(struct pyobjects_run *run, const struct pynode *from, taddr at, void *ctx)
{
	struct pynode to;
	uint32_t type;
	uint64_t *number;

	(void)ctx;
	if (!pynodes_find(run, at, &to) || !pynode_is_object(run->state[to.i]))
		return 0;
	type = run->state[to.i];
	if (at != to.at + run->types.all[type].before)
		return 0;
	number = addrmap_slot(&run->pointers, (uint64_t)type << 32 | (run->state[from->i] & ~PYNODE_OWNED), NULL);
	if (!number)
		return -ENOMEM;
	++*number;
	return 0;
}

static int count_of(struct pyobjects_run *run, const struct pynode *node)
{
	return pynodes_words(run, node, count, NULL);
}

/* Of equal ones, that of the lower name. */
static bool is_before(const struct pyobjects_holder *a, const struct pyobjects_holder *b)
{
	return a->pointers != b->pointers ? a->pointers > b->pointers : !b->name || strcmp(a->name, b->name) < 0;
}

static void insert(struct pyobjects_type *to, struct pyobjects_holder h)
{
	for (size_t i = 0; i < PYOBJECTS_HOLDERS; i++)
		if (is_before(&h, &to->holders[i])) {
			const struct pyobjects_holder next = to->holders[i];

			to->holders[i] = h;
			h = next;
			if (!h.name)
				return;
		}
}

int pyholders_count(struct pyobjects_run *run)
{
	uint64_t key;
	void *value;
	int r = pynodes_each(run, count_of);

	if (r < 0)
		return r;
	for (size_t i = 0; addrmap_next(&run->pointers, &i, &key, &value);)
		insert(&run->sums[key >> 32], (struct pyobjects_holder){ run->types.all[(uint32_t)key].name,
									 *(uint64_t *)value });
	return 0;
}

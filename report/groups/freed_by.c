/* SPDX-License-Identifier: MIT */
/* freed_by: see freed_by.h. */
#include "report/groups/freed_by.h"

#include <errno.h>
#include <stdlib.h>

#include "report/names/expand.h"
#include "report/names/wrappers.h"

/* One pair of stacks: the first stack group of the path that allocated, and the stack that freed. */
struct pair {
	uint32_t first, stack;
	uint64_t blocks, bytes;
};

/* Pairs of a stack group follow one another, most blocks first. */
static int compare(const void *pa, const void *pb)
{
	const struct pair *a = pa, *b = pb;

	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	if (a->blocks != b->blocks)
		return a->blocks > b->blocks ? -1 : 1;
	return a->stack < b->stack ? -1 : a->stack > b->stack;
}

/* A path without its wrappers may look the same as another one, into which it was merged. */
static uint32_t first_of(const struct stack_groups *ds, uint32_t stack)
{
	const uint32_t first = ds->first_of[stack];

	return first == DEFS_NONE ? DEFS_NONE : ds->all[ds->all[first].twin].first;
}

static size_t read_pairs(const struct stack_groups *ds, const struct addrmap *freed, struct pair *pairs)
{
	size_t n = 0;
	uint64_t key;
	void *value;

	for (size_t at = 0; addrmap_next(freed, &at, &key, &value);) {
		const struct ledger_freed *its = value;
		const uint32_t first = first_of(ds, (uint32_t)(key >> 32));

		if (first != DEFS_NONE)
			pairs[n++] = (struct pair){ first, (uint32_t)key, its->blocks, its->bytes };
	}
	qsort(pairs, n, sizeof(*pairs), compare);
	return n;
}

static int keep(const struct ledger *l, const struct pair *pair, struct summary *s, struct summary_freed *out)
{
	struct stack_view stack;
	int r = expand_stack(&l->defs, pair->stack, &stack);

	if (r < 0)
		return r;
	wrappers_mark(stack.frames, stack.depth, l->skips, l->nskips);
	stack.wrappers = wrappers_count(stack.frames, stack.depth);
	*out = (struct summary_freed){ pair->blocks, pair->bytes, summary_keep_stack(s, &stack) };
	free(stack.frames);
	return summary_error(s);
}

/* The list of @pairs[0..n), which have the same first stack group, for each group of the path. */
static int give(const struct stack_groups *ds, const struct pair *pairs, size_t n, struct summary *s)
{
	cleanup_free struct summary_freed *list = calloc(n, sizeof(*list));
	int r = list ? 0 : -ENOMEM;
	bool kept = false;

	for (uint32_t i = pairs->first; i != DEFS_NONE && r == 0; i = ds->all[i].next) {
		struct summary_group *g = &s->groups[ds->all[i].serial];

		if (!ds->all[i].is_group)
			continue;
		for (size_t k = 0; k < n && !kept && r == 0; k++)
			r = keep(ds->ledger, &pairs[k], s, &list[k]);
		kept = true;
		if (r == 0)
			r = summary_set_freed(s, g, list, n);
	}
	return r;
}

int freed_by_add(const struct stack_groups *ds, struct summary *s)
{
	const struct addrmap *freed = &ds->ledger->books[ds->family].freed;
	cleanup_free struct pair *pairs = calloc(addrmap_count(freed) + 1, sizeof(*pairs));
	size_t n, end;
	int r = 0;

	if (!pairs)
		return -ENOMEM;
	n = read_pairs(ds, freed, pairs);
	for (size_t i = 0; i < n && r == 0; i = end) {
		for (end = i + 1; end < n && pairs[end].first == pairs[i].first;)
			end++;
		r = give(ds, pairs + i, end - i, s);
	}
	return r;
}

/* SPDX-License-Identifier: MIT */
/* hangs: see hangs.h. */
#include "report/groups/hangs.h"

#include <errno.h>
#include <stdlib.h>

#include "base/addrmap.h"

static const size_t *group_of(const struct groupmap *groups, uint32_t family, const struct live_block *b)
{
	return groupmap_find(groups, family, b->stack, b->verdict);
}

/* The group of the lost block at @addr, in any family; @family is searched first. NULL: none. */
static const size_t *root_of(const struct groupmap *groups, const struct ledger *l, uint32_t family,
			     taddr addr)
{
	const size_t *serial = NULL;
	struct live_block b;

	for (uint32_t i = 0; i <= l->nbooks && !serial; i++) {
		uint32_t at = i ? i - 1 : family;

		if (ledger_holds(l, at, addr, &b) &&
		    (b.verdict == VERDICT_DEFINITE || b.verdict == VERDICT_POSSIBLE))
			serial = group_of(groups, at, &b);
	}
	return serial;
}

static uint64_t pair_of(size_t root, size_t group)
{
	return (uint64_t)root << 32 | (uint32_t)group;
}

static int add_up(const struct groupmap *groups, const struct ledger *l, uint64_t older_than_us,
		  struct addrmap *pairs)
{
	struct verdict_place place = { 0 };
	struct verdict_block j;
	struct live_block b;

	while (ledger_next_hanging(l, &place, &j, &b)) {
		const size_t *group = group_of(groups, j.family, &b),
			     *root = group ? root_of(groups, l, j.family, j.with_bytes) : NULL;
		struct summary_sum *sum;
		bool fresh;

		if (!root || !ledger_old_enough(l, b.birth_us, older_than_us))
			continue;
		sum = addrmap_slot(pairs, pair_of(*root, *group), &fresh);
		if (!sum)
			return -ENOMEM;
		if (fresh)
			*sum = (struct summary_sum){ 0, 0 };
		sum->blocks++;
		sum->bytes += b.size;
	}
	return 0;
}

/* Of several processes the sums are known already. */
static int add_up_merged(const struct groupmap *groups, const struct merged *m, struct addrmap *pairs)
{
	for (size_t i = 0; i < m->nhangs; i++) {
		const struct merged_group *on = &m->groups[m->hangs[i].root],
			*g = &m->groups[m->hangs[i].group];
		const size_t *root = groupmap_find(groups, on->family, on->stack, on->verdict),
			     *group = groupmap_find(groups, g->family, g->stack, g->verdict);
		struct summary_sum *sum = root && group ? addrmap_slot(pairs, pair_of(*root, *group),
				NULL) : NULL;

		if (!root || !group)
			continue;
		if (!sum)
			return -ENOMEM;
		sum->blocks += m->hangs[i].blocks;
		sum->bytes += m->hangs[i].bytes;
	}
	return 0;
}

static int compare(const void *pa, const void *pb)
{
	const struct summary_hang *a = pa, *b = pb;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->serial < b->serial ? -1 : a->serial > b->serial;
}

/* Groups are unsorted: their serial numbers are their indices. */
static void put(struct summary *s, const struct addrmap *pairs)
{
	uint64_t key;
	void *value;

	for (size_t at = 0; addrmap_next(pairs, &at, &key, &value);) {
		struct summary_group *root = &s->groups[key >> 32];
		const struct summary_sum *sum = value;

		summary_add_hang(s, root,
				 &(struct summary_hang){ key & UINT32_MAX, sum->blocks, sum->bytes });
		s->groups[key & UINT32_MAX].held = true;
	}
	for (size_t i = 0; i < s->ngroups; i++)
		if (s->groups[i].nhangs)
			qsort(s->groups[i].hangs, s->groups[i].nhangs, sizeof(struct summary_hang), compare);
}

int hangs_add(const struct groupmap *groups, const struct ledger *l, uint64_t older_than_us,
	      struct summary *s)
{
	struct addrmap pairs;
	int r;

	/* a lost block and what hangs on it are seldom both in a sample by bytes */
	if (l->run.sample_bytes)
		return 0;
	addrmap_init(&pairs, sizeof(struct summary_sum));
	r = add_up(groups, l, older_than_us, &pairs);
	if (r == 0)
		r = add_up_merged(groups, &l->merged, &pairs);
	if (r == 0)
		put(s, &pairs);
	addrmap_fini(&pairs);
	return r;
}

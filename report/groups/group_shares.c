/* SPDX-License-Identifier: MIT */
/* group_shares: see group_shares.h. */
#include "report/groups/group_shares.h"

#include <errno.h>
#include <stdlib.h>

/*
 * The stack group that has the blocks of a merged group; DEFS_NONE: none. Without blocks its stack may have
 * no place.
 */
static uint32_t group_of(const struct stack_groups *ds, const struct merged_group *m)
{
	uint32_t index = m->family == ds->family && m->blocks ? stack_groups_of(ds, m->stack, m->verdict)
		: DEFS_NONE;

	return index == DEFS_NONE ? index : ds->all[index].twin;
}

static void sort_by_group(struct group_shares *g)
{
	const struct merged *m = &g->stacks->ledger->merged;

	for (size_t i = 0; i < m->ngroups; i++) {
		uint32_t of = group_of(g->stacks, &m->groups[i]);

		if (of != DEFS_NONE)
			g->from[of + 1]++;
	}
	for (size_t i = 0; i < g->stacks->n; i++)
		g->from[i + 1] += g->from[i];
	g->from[g->stacks->n + 1] = g->from[g->stacks->n];
	for (size_t i = m->ngroups; i > 0; i--) {
		uint32_t of = group_of(g->stacks, &m->groups[i - 1]);

		if (of != DEFS_NONE)
			g->of[--g->from[of + 1]] = (uint32_t)(i - 1);
	}
}

int group_shares_make(const struct stack_groups *ds, struct group_shares *out)
{
	const struct merged *m = &ds->ledger->merged;

	*out = (struct group_shares){ .stacks = ds };
	if (!m->nprocesses)
		return 0;
	out->of = calloc(m->ngroups + 1, sizeof(*out->of));
	out->from = calloc(ds->n + 2, sizeof(*out->from));
	out->bytes = calloc(m->nprocesses, sizeof(*out->bytes));
	out->has = calloc(m->nprocesses, sizeof(*out->has));
	out->list = calloc(m->nprocesses, sizeof(*out->list));
	if (!out->of || !out->from || !out->bytes || !out->has || !out->list)
		return -ENOMEM;
	sort_by_group(out);
	return 0;
}

void group_shares_fini(struct group_shares *g)
{
	free(g->of);
	free(g->from);
	free(g->bytes);
	free(g->has);
	free(g->list);
}

static void add(struct group_shares *g, const struct parts *parts)
{
	struct parts_place place = { 0 };
	struct fact_part p;

	while (parts_next(parts, &place, &p)) {
		g->bytes[p.process] += p.bytes;
		g->has[p.process] = 1;
	}
}

size_t group_shares_of(struct group_shares *g, size_t stack_group, struct summary_share **list)
{
	const struct merged *m = &g->stacks->ledger->merged;
	size_t n = 0;

	*list = g->list;
	if (!m->nprocesses)
		return 0;
	for (size_t i = g->from[stack_group + 1]; i < g->from[stack_group + 2]; i++)
		add(g, &m->groups[g->of[i]].parts);
	for (uint32_t i = 0; i < m->nprocesses; i++) {
		if (!g->has[i])
			continue;
		g->list[n++] = (struct summary_share){ i, g->bytes[i] };
		g->bytes[i] = 0;
		g->has[i] = 0;
	}
	return n;
}

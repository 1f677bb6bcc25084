/* SPDX-License-Identifier: MIT */
#include "report/ledger/memories.h"

#include <errno.h>
#include <stdlib.h>

#define SHORTEST_US 250000u

static struct memory_process *find(const struct memories *m, int32_t pid)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->all[i].pid == pid)
			return &m->all[i];
	return NULL;
}

static int add_process(struct memories *m, int32_t pid, struct memory_process **out)
{
	struct memory_process *grown;

	grown = reallocarray(m->all, m->n + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	m->all = grown;
	*out = &m->all[m->n++];
	**out = (struct memory_process){ .pid = pid };
	return 0;
}

/*
 * The length of spans: the shortest one times a power of two, such that there is room for all spans until
 * @at_us.
 */
static uint64_t span_for(uint64_t at_us)
{
	uint64_t span = SHORTEST_US;

	while (at_us / span >= MEMORY_POINTS - 2)
		span *= 2;
	return span;
}

/* Keep the first point, and the last of each span. */
static void thin(struct memory_process *p, uint64_t span)
{
	uint32_t kept = p->npoints ? 1 : 0;

	for (uint32_t i = 1; i < p->npoints; i++)
		if (i + 1 == p->npoints || p->points[i].at_us / span != p->points[i + 1].at_us / span)
			p->points[kept++] = p->points[i];
	p->npoints = kept;
}

int memories_add(struct memories *m, int32_t pid, const char *name, const struct memory_point *point)
{
	struct memory_process *p = find(m, pid);
	uint64_t span;
	int r = 0;

	if (!p && m->n >= MEMORY_PROCESSES)
		return 0;
	if (!p)
		r = add_process(m, pid, &p);
	if (r < 0)
		return r;
	if (p->npoints && point->at_us <= p->points[p->npoints - 1].at_us)
		return 0;
	p->name = name;
	span = span_for(point->at_us);
	thin(p, span);
	if (p->npoints > 1 && p->points[p->npoints - 1].at_us / span == point->at_us / span)
		p->npoints--;
	p->points[p->npoints++] = *point;
	return 0;
}

void memories_fini(struct memories *m)
{
	free(m->all);
	*m = (struct memories){ 0 };
}

const struct memory_process *memories_of(const struct memories *m, int32_t pid)
{
	return find(m, pid);
}

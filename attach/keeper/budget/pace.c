/* SPDX-License-Identifier: MIT */
#include "attach/keeper/budget/pace.h"

#define MARK_NS 1000000000ull
#define ENOUGH_NS 20000000	/* of quiet time: before that the pace is not known */

bool pace_due(const struct pace *p, uint64_t now_ns)
{
	return now_ns >= p->next_ns;
}

void pace_note(struct pace *p, uint64_t now_ns, struct pace_mark mark)
{
	p->marks[p->n++ % PACE_MARKS] = mark;
	p->next_ns = now_ns + MARK_NS;
}

static const struct pace_mark *oldest(const struct pace *p)
{
	return &p->marks[p->n < PACE_MARKS ? 0 : p->n % PACE_MARKS];
}

uint64_t pace_most(const struct pace *p, struct pace_mark now, uint64_t calm_ns)
{
	const struct pace_mark *then = oldest(p);
	uint64_t calm = now.calm_ns - then->calm_ns, work = now.work_ns - then->work_ns, most;

	/* half as much again as usual; that of one thread at least, if threads are idle most of the time */
	most = p->n && calm ? (uint64_t)((unsigned __int128)calm_ns * work * 3 / calm / 2) : 0;
	return most > calm_ns ? most : calm_ns;
}

static bool is_hot(const struct stretch *s)
{
	return s->full && s->calm_hits && (s->hot || s->wall_ns < s->hits * PACE_HOT_NS);
}

uint64_t pace_worth(const struct pace *p, const struct stretch *s, struct pace_mark now, uint32_t *hits)
{
	const struct pace_mark *then = oldest(p);
	uint64_t calm = now.calm_ns - then->calm_ns, work = now.work_ns - then->work_ns;

	*hits = s->hits;
	if (!is_hot(s))
		return s->wall_ns;
	*hits = s->calm_hits;
	if (!p->n || calm < ENOUGH_NS || !work || s->work_ns < s->stops_cpu_ns / 2)
		return s->calm_ns;
	return (uint64_t)((unsigned __int128)s->work_ns * calm / work);
}

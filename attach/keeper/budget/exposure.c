/* SPDX-License-Identifier: MIT */
#include "attach/keeper/budget/exposure.h"

#define MARK_NS 1000000000ull
#define ENOUGH_NS 20000000	/* of quiet time: before that the rate of CPU time is not known */

bool exposure_due(const struct exposure *p, uint64_t now_ns)
{
	return now_ns >= p->next_ns;
}

void exposure_add_mark(struct exposure *p, uint64_t now_ns, struct exposure_mark mark)
{
	p->marks[p->n++ % EXPOSURE_MARKS] = mark;
	p->next_ns = now_ns + MARK_NS;
}

static const struct exposure_mark *oldest(const struct exposure *p)
{
	return &p->marks[p->n < EXPOSURE_MARKS ? 0 : p->n % EXPOSURE_MARKS];
}

uint64_t exposure_max_work(const struct exposure *p, struct exposure_mark now, uint64_t quiet_ns)
{
	const struct exposure_mark *then = oldest(p);
	uint64_t quiet = now.quiet_ns - then->quiet_ns, work = now.work_ns - then->work_ns, most;

	/* half as much again as usual; that of one thread at least, if threads are idle most of the time */
	most = p->n && quiet ? (uint64_t)((unsigned __int128)quiet_ns * work * 3 / quiet / 2) : 0;
	return most > quiet_ns ? most : quiet_ns;
}

static bool is_hot(const struct exposure_span *s)
{
	return s->full && s->quiet_hits && (s->hot || s->wall_ns < s->hits * EXPOSURE_HOT_NS);
}

uint64_t exposure_of_span(const struct exposure *p, const struct exposure_span *s, struct exposure_mark now,
			  uint32_t *hits)
{
	const struct exposure_mark *then = oldest(p);
	uint64_t quiet = now.quiet_ns - then->quiet_ns, work = now.work_ns - then->work_ns;

	*hits = s->hits;
	if (!is_hot(s))
		return s->wall_ns;
	*hits = s->quiet_hits;
	if (!p->n || quiet < ENOUGH_NS || !work || s->work_ns < s->stops_cpu_ns / 2)
		return s->quiet_ns;
	return (uint64_t)((unsigned __int128)s->work_ns * quiet / work);
}

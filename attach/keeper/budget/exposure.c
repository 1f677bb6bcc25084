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

/*
 * The time that @work_ns of CPU time take, at the pace of the last seconds. UINT64_MAX: the pace is not known.
 */
static uint64_t time_of(const struct exposure *p, struct exposure_mark now, uint64_t work_ns)
{
	const struct exposure_mark *then = oldest(p);
	const uint64_t quiet = now.quiet_ns - then->quiet_ns, work = now.work_ns - then->work_ns;

	if (!p->n || quiet < ENOUGH_NS || !work)
		return UINT64_MAX;
	return (uint64_t)((unsigned __int128)work_ns * quiet / work);
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Time that the target needs by itself; if hardly any CPU time is left besides that of stops, at most this. */
static uint64_t own_ns(const struct exposure *p, const struct exposure_span *s, struct exposure_mark now)
{
	const uint64_t least = s->stops_cpu_ns / 2;

	return less(time_of(p, now, s->work_ns < least ? least : s->work_ns), s->quiet_ns);
}

static bool is_hot(const struct exposure_span *s)
{
	return s->full && s->quiet_hits && (s->hot || s->wall_ns < s->hits * EXPOSURE_HOT_NS);
}

uint64_t exposure_of_span(const struct exposure *p, const struct exposure_span *s, struct exposure_mark now,
			  uint32_t *hits)
{
	*hits = s->hits;
	if (!is_hot(s))
		return s->wall_ns;
	*hits = s->quiet_hits;
	return own_ns(p, s, now);
}

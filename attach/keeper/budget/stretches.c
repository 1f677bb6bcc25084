/* SPDX-License-Identifier: MIT */
#include "attach/keeper/budget/stretches.h"

#include "attach/keeper/state.h"

void stretches_begin(struct keeper *k, uint32_t i)
{
	struct metered *m = &k->budget.metering.all[i];

	m->began_ns = keeper_clock_ns();
	m->began_calm_ns = calm_ns(&k->budget.cost.calm, m->began_ns);
	/* without a quota the CPU time is not needed */
	m->began_work_ns = m->quota ? cost_work_ns(k) : 0;
	m->began_stops = k->budget.cost.calm.stops;
	m->hits = m->calm_hits = 0;
}

/* When a stop began is estimated, so a clock may seem to be behind what it has shown. */
static uint64_t since(uint64_t now, uint64_t then)
{
	return now > then ? now - then : 0;
}

static struct pace_mark pace_now(const struct keeper *k)
{
	return (struct pace_mark){ calm_ns(&k->budget.cost.calm, keeper_clock_ns()), k->budget.cost.calm.work_ns };
}

/*
 * The CPU time of a stopped thread is known exactly. That of a running one, as when the interval began, is
 * known only to a tick of the scheduler, which may be longer than the whole interval: so the CPU time until
 * the first hit is cut to what is possible.
 */
static void end_of_doubt(struct keeper *k, struct metered *m)
{
	const struct calm *c = &k->budget.cost.calm;
	uint64_t most = pace_most(&k->budget.metering.pace, pace_now(k), since(c->sum_ns, m->began_calm_ns));

	if (c->work_ns > m->began_work_ns + most)
		m->began_work_ns = c->work_ns - most;
}

void stretches_hit(struct keeper *k, uint32_t i)
{
	struct metered *m = &k->budget.metering.all[i];

	if (!m->hits++)
		end_of_doubt(k, m);
	m->calm_hits += k->budget.cost.counts;
}

static uint64_t worth_ns(struct keeper *k, const struct metered *m, bool full, uint32_t *hits)
{
	const struct calm *c = &k->budget.cost.calm;
	const struct stretch s = {
		.wall_ns = keeper_clock_ns() - m->began_ns, .calm_ns = since(c->sum_ns, m->began_calm_ns), .work_ns = since(c->work_ns, m->began_work_ns),
		.stops_cpu_ns = (c->stops - m->began_stops) * c->stop_cpu_ns, .hits = m->hits, .calm_hits = m->calm_hits, .full = full, .hot = m->hot,
	};

	return pace_worth(&k->budget.metering.pace, &s, pace_now(k), hits);
}

/* For how long of the interval a thread was stopped. */
static uint64_t stood_ns(const struct keeper *k, const struct metered *m)
{
	uint64_t now = keeper_clock_ns();

	return since(now - m->began_ns, since(calm_ns(&k->budget.cost.calm, now), m->began_calm_ns));
}

void stretches_end(struct keeper *k, uint32_t i, bool full)
{
	struct metered *m = &k->budget.metering.all[i];
	uint32_t hits;
	uint64_t exposed_ns = worth_ns(k, m, full, &hits) + m->rest_ns;

	m->rest_ns = exposed_ns % 1000;
	m->full = full;
	if (full)
		m->hot = exposed_ns < m->hits * PACE_HOT_NS;
	meter_add(&k->shared->meters[i], &(struct meter_stretch){
		hits, exposed_ns / 1000, full, m->hits - hits, m->hits ? stood_ns(k, m) / 1000 : 0,
	});
}

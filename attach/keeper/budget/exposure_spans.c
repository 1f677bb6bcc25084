/* SPDX-License-Identifier: MIT */
#include "attach/keeper/budget/exposure_spans.h"

#include "attach/keeper/state.h"

void exposure_spans_begin(struct keeper *k, uint32_t i)
{
	struct trap_round *m = &k->budget.rounds.all[i];

	m->began_ns = keeper_clock_ns();
	m->began_quiet_ns = quiet_clock_ns(&k->budget.cost.quiet, m->began_ns);
	/* without a quota the CPU time is not needed */
	m->began_work_ns = m->quota ? cost_work_ns(k) : 0;
	m->began_stops = k->budget.cost.quiet.stops;
	m->hits = m->quiet_hits = 0;
}

/* When a stop began is only estimated, so a clock may show less than it did before. */
static uint64_t since(uint64_t now, uint64_t then)
{
	return now > then ? now - then : 0;
}

static struct exposure_mark exposure_now(const struct keeper *k)
{
	return (struct exposure_mark){ quiet_clock_ns(&k->budget.cost.quiet, keeper_clock_ns()),
				       k->budget.cost.quiet.work_ns };
}

/*
 * The CPU time of a stopped thread is known exactly. That of a running one, as when the interval began, is
 * known only to a tick of the scheduler, which may be longer than the whole interval: so the CPU time until
 * the first hit is cut to what is possible.
 */
static void limit_first_work(struct keeper *k, struct trap_round *m)
{
	const struct quiet_clock *c = &k->budget.cost.quiet;
	uint64_t most = exposure_max_work(&k->budget.rounds.exposure, exposure_now(k),
					  since(c->sum_ns, m->began_quiet_ns));

	if (c->work_ns > m->began_work_ns + most)
		m->began_work_ns = c->work_ns - most;
}

void exposure_spans_hit(struct keeper *k, uint32_t i)
{
	struct trap_round *m = &k->budget.rounds.all[i];

	if (!m->hits++)
		limit_first_work(k, m);
	m->quiet_hits += k->budget.cost.counts;
}

static uint64_t exposure_ns(struct keeper *k, const struct trap_round *m, bool full, uint32_t *hits)
{
	const struct quiet_clock *c = &k->budget.cost.quiet;
	const struct exposure_span s = {
		.wall_ns = keeper_clock_ns() - m->began_ns, .quiet_ns = since(c->sum_ns, m->began_quiet_ns),
		.work_ns = since(c->work_ns, m->began_work_ns),
		.stops_cpu_ns = (c->stops - m->began_stops) * c->stop_cpu_ns, .hits = m->hits,
		.quiet_hits = m->quiet_hits, .full = full, .hot = m->hot,
	};

	return exposure_of_span(&k->budget.rounds.exposure, &s, exposure_now(k), hits);
}

/* For how long of the interval a thread was stopped. */
static uint64_t stopped_ns(const struct keeper *k, const struct trap_round *m)
{
	uint64_t now = keeper_clock_ns();

	return since(now - m->began_ns, since(quiet_clock_ns(&k->budget.cost.quiet, now), m->began_quiet_ns));
}

void exposure_spans_end(struct keeper *k, uint32_t i, bool full)
{
	struct trap_round *m = &k->budget.rounds.all[i];
	uint32_t hits;
	uint64_t exposed_ns = exposure_ns(k, m, full, &hits) + m->rest_ns;

	m->rest_ns = exposed_ns % 1000;
	m->full = full;
	if (full)
		m->hot = exposed_ns < m->hits * EXPOSURE_HOT_NS;
	site_stats_add(&k->shared->meters[i], &(struct site_stats_span){
		hits, exposed_ns / 1000, full, m->hits - hits, m->hits ? stopped_ns(k, m) / 1000 : 0,
	});
}

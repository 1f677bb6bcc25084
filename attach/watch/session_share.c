/* SPDX-License-Identifier: MIT */
#include "attach/watch/session_share.h"

#include <math.h>

#include "attach/keeper/budget/token_bucket.h"
#include "attach/options/options.h"
#include "attach/sampling/sampling.h"
#include "attach/watch/session.h"

#define SHORTER 0.9		/* than a pause that would cost too much */
#define PROBES_PART 3		/* of a budget, two parts in so many: they see far more calls than stops do */
#define LONGER 1.1		/* than the last one was */
#define PAUSES_PART 0.8	/* of ten seconds' budget may be for one; the keeper keeps a tenth for other things */
#define LEAST_PART 20		/* for samples */
#define CHANGE_PART 16		/* smaller changes do not matter */
#define LIMIT_NS 1000000000ull

static double threads_of(const struct session *s)
{
	return (double)atomic_load(&s->at.link.shared->threads);
}

static double cost_of(const struct session *s, double pause_ns, uint32_t *ppm)
{
	*ppm = awake_part(&s->awake, (uint64_t)pause_ns);
	return pause_ns * fmax(threads_of(s) * *ppm / AWAKE_ALL, 1);
}

double session_share_longest(struct session *s, double room_ns)
{
	double pause_ns = room_ns;
	uint32_t ppm;

	/* if they cannot be looked at, all count */
	(void)!awake_look(&s->awake, s->at.target.pid, link_clock_ns());
	while (cost_of(s, pause_ns, &ppm) > room_ns && pause_ns > 1)
		pause_ns *= SHORTER;
	atomic_store(&s->at.link.shared->budget.asleep_ppm, ppm);
	return pause_ns;
}

void session_share_learn(struct session *s, uint64_t pause_ns)
{
	uint32_t ppm;

	if (!pause_ns)
		return;
	s->share.pause_ns = (uint64_t)(cost_of(s, (double)pause_ns, &ppm) * LONGER);
}

/* The part of the budget that is left for samples, where one pause needs the rest; 1: none is to be had. */
static double beside_pause(const struct session *s)
{
	const double all_ns = (double)TEN_SECONDS_NS / 1e6 * s->opt->budget_ppm,
		     part = (double)s->share.pause_ns / (all_ns * PAUSES_PART);

	return part <= 1 ? fmax(1 - part, 1. / LEAST_PART) : 1;
}

int session_share_set(struct session *s, bool pause)
{
	const uint32_t all = s->opt->budget_ppm, before = s->share.samples_ppm ? s->share.samples_ppm : all;
	const double part = (pause || s->probing ? beside_pause(s) : 1) / (s->probing ? PROBES_PART : 1);
	const uint32_t ppm = (uint32_t)(all * part);
	uint32_t sent;
	int64_t r;

	if ((ppm < before ? before - ppm : ppm - before) <= all / CHANGE_PART / (s->probing ? PROBES_PART : 1))
		return 0;
	sent = atomic_load(&s->at.link.shared->seq);
	r = link_call(&s->at.link, COMMAND_SHARE, ppm, 0, LIMIT_NS);
	/* one that was sent, and is not answered in time, is carried out later */
	if (atomic_load(&s->at.link.shared->seq) != sent) {
		s->share.samples_ppm = ppm;
		sampling_share(s->sampling, ppm);
	}
	return r < 0 ? (int)r : 0;
}

bool session_share_is_kept(const struct session *s)
{
	return s->share.samples_ppm && s->share.samples_ppm < s->opt->budget_ppm / (s->probing ? PROBES_PART : 1);
}

uint32_t session_share_of_probes(const struct session *s)
{
	return s->opt->budget_ppm - s->opt->budget_ppm / PROBES_PART;
}

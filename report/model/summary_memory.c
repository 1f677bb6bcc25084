/* SPDX-License-Identifier: MIT */
/* Memory as the kernel reports it, beside what was watched: see summary.h. */
#include <math.h>

#include "report/model/summary.h"
#include "report/model/summary_parts.h"

void summary_add_memory(struct summary *s, const struct memory_process *p)
{
	struct summary_memory *m = summary_push(s, &s->memories, &s->nmemories, sizeof(*m));

	if (!m)
		return;
	*m = (struct summary_memory){ .pid = p->pid, .name = summary_string(s, p->name),
				      .npoints = p->npoints };
	for (uint32_t i = 0; i < p->npoints; i++)
		m->points[i] = p->points[i];
}

const struct summary_memory *summary_memory_of_target(const struct summary *s)
{
	for (size_t i = 0; i < s->nmemories; i++)
		if (s->memories[i].pid == s->target.pid)
			return &s->memories[i];
	return NULL;
}

uint64_t summary_memory_rss(const struct summary_memory *m)
{
	const struct memory_point *last = &m->points[m->npoints - 1];

	return last->anonymous + last->file + last->shared;
}

/* Without pages of files: the kernel can drop these. */
static uint64_t own(const struct memory_point *p)
{
	return p->anonymous + p->shared + p->swapped;
}

int64_t summary_memory_growth(const struct summary_memory *m)
{
	return (int64_t)(own(&m->points[m->npoints - 1]) - own(&m->points[0]));
}

double summary_busy(const struct summary *s)
{
	const struct summary_memory *m = summary_memory_of_target(s);
	const struct memory_point *first = m ? &m->points[0] : NULL, *last = m ? &m->points[m->npoints - 1] : NULL;

	if (!m || !last->busy_us || last->busy_us < first->busy_us || last->at_us <= first->at_us)
		return -1;
	return (double)(last->busy_us - first->busy_us) / (double)(last->at_us - first->at_us);
}

/* All processes are looked at at the same times: a process without the last time had ended. */
bool summary_memory_ended(const struct summary *s, const struct summary_memory *m)
{
	const struct summary_memory *own = summary_memory_of_target(s);

	return own && m->points[m->npoints - 1].at_us < own->points[own->npoints - 1].at_us;
}

uint64_t summary_memory_explained(const struct summary *s)
{
	double sum = 0;

	if (!summary_is_sampled(&s->run))
		return s->totals.live_bytes;
	for (size_t i = 0; i < s->ngroups; i++)
		if (s->groups[i].sampled && isfinite(s->groups[i].sampled->may_keep_bytes.value))
			sum += s->groups[i].sampled->may_keep_bytes.value * s->run.seconds / 60;
	return sum > 0 && sum < 1e18 ? (uint64_t)sum : 0;
}

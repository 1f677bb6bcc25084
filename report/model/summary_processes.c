/* SPDX-License-Identifier: MIT */
/* The processes of a merged trace, and what each has of a group: see summary.h. */
#include <errno.h>
#include <stdlib.h>

#include "report/model/summary.h"
#include "report/model/summary_parts.h"

size_t summary_processes_seen(const struct summary *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->nprocesses; i++)
		n += !s->processes[i].its.absent;
	return n;
}

bool summary_is_merged(const struct summary *s)
{
	return s->nprocesses > 0;
}

void summary_add_process(struct summary *s, const struct summary_process *process)
{
	struct summary_process *p = summary_push(s, &s->processes, &s->nprocesses, sizeof(*p));

	if (!p)
		return;
	*p = *process;
	p->its.comm = summary_string(s, process->its.comm);
	p->its.exe = summary_string(s, process->its.exe);
	p->its.host = summary_string(s, process->its.host);
	p->its.labels = summary_string(s, process->its.labels);
	p->its.frontend = summary_string(s, process->its.frontend);
	p->its.mode = summary_string(s, process->its.mode);
	p->its.how = summary_string(s, process->its.how);
}

/* --- shares --- */

const struct summary_share *summary_worst_share(const struct summary_group *g)
{
	const struct summary_share *worst = NULL;

	for (size_t i = 0; i < g->nshares; i++)
		if (!worst || g->shares[i].bytes > worst->bytes)
			worst = &g->shares[i];
	return worst;
}

int summary_merge_shares(struct summary_group *to, const struct summary_share *more, size_t n)
{
	struct summary_share *sum = n ? calloc(to->nshares + n, sizeof(*sum)) : NULL;
	size_t a = 0, b = 0, k = 0;

	if (!n)
		return 0;
	if (!sum)
		return -ENOMEM;
	while (a < to->nshares || b < n) {
		const bool first = b == n || (a < to->nshares && to->shares[a].process <= more[b].process),
			   second = a == to->nshares || (b < n && more[b].process <= to->shares[a].process);

		sum[k].process = first ? to->shares[a].process : more[b].process;
		sum[k].bytes = (first ? to->shares[a].bytes : 0) + (second ? more[b].bytes : 0);
		a += first;
		b += second;
		k++;
	}
	free(to->shares);
	to->shares = sum;
	to->nshares = k;
	return 0;
}

/* --- order --- */

uint64_t summary_process_suspect(const struct summary_process *p)
{
	return p->its.judged ? p->sums[VERDICT_DEFINITE].bytes + p->sums[VERDICT_INDIRECT].bytes +
				       p->sums[VERDICT_POSSIBLE].bytes
			     : p->its.live_bytes;
}

static int compare(const void *pa, const void *pb, void *ctx)
{
	const struct summary *s = ctx;
	const uint32_t ia = *(const uint32_t *)pa, ib = *(const uint32_t *)pb;
	const struct summary_process *a = &s->processes[ia], *b = &s->processes[ib];
	int order = a->its.absent - b->its.absent;

	if (!order)
		order = summary_compare_numbers(a->its.live_bytes, b->its.live_bytes);
	return order ? order : summary_compare_numbers(ib, ia);
}

void summary_sort_processes(const struct summary *s, uint32_t *out)
{
	for (uint32_t i = 0; i < s->nprocesses; i++)
		out[i] = i;
	if (s->nprocesses)
		qsort_r(out, s->nprocesses, sizeof(*out), compare, (void *)s);
}

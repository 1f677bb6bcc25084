/* SPDX-License-Identifier: MIT */
/* group_samples: see group_samples.h. */
#include "report/groups/group_samples.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "report/model/sampled.h"
#include "report/model/sampled_others.h"


/*
 * Each sample once: neither a stack group that was merged into another one, nor the later stack groups of a
 * path, which share the sample.
 */
static bool is_a_place(const struct stack_groups *ds, size_t i)
{
	return ds->all[i].sampled && ds->all[i].twin == i && ds->all[i].first == i;
}

/* Mean usable bytes of a block. */
static double bytes_left(const struct stack_group *d, const struct summary_sample *its)
{
	return d->live.blocks ? (double)d->live.bytes / (double)d->live.blocks : its->bytes_each;
}

/* How long @process was watched; of a run that is not merged, the run. */
static double seconds_of(const struct ledger *l, uint32_t process)
{
	const struct merged *m = &l->merged;

	return (double)(process < m->nprocesses ? m->processes[process].its.run_us : l->now_us) / 1e6;
}

/* What the samples of one stack group in one process say. */
struct group_sample {
	size_t group;
	uint32_t process;
	struct summary_sample its;
};

static int by_process(const void *pa, const void *pb)
{
	const struct group_sample *a = pa, *b = pb;

	return a->process != b->process ? (a->process > b->process) - (a->process < b->process) :
					  (a->group > b->group) - (a->group < b->group);
}

static int by_group(const void *pa, const void *pb)
{
	const struct group_sample *a = pa, *b = pb;

	return a->group != b->group ? (a->group > b->group) - (a->group < b->group) :
				      (a->process > b->process) - (a->process < b->process);
}

/* How many blocks the process loses; of a run that is not merged. */
static double lost_a_minute(const struct ledger *l)
{
	const struct fact_loss *its = &l->samples.budget.loss;

	/* of less than half of the run it says little of the rest */
	if (its->over_us <= l->now_us / 2 || ledger_is_merged(l))
		return INFINITY;
	return (double)its->blocks * 60e6 / (double)its->over_us;
}

/* Blocks that seem to stay of one stack may be those of another one of the same process. */
static int doubt_others(const struct stack_groups *ds, struct group_sample *all, size_t n)
{
	cleanup_free struct sampled_place *places = calloc(n + 1, sizeof(*places));
	size_t from = 0, nplaces = 0;

	if (!places)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (i && all[i].process != all[i - 1].process) {
			sampled_doubt_others(places + from, nplaces - from, lost_a_minute(ds->ledger));
			from = nplaces;
		}
		if (is_a_place(ds, all[i].group))
			places[nplaces++] = (struct sampled_place){
				&all[i].its, bytes_left(&ds->all[all[i].group], &all[i].its),
			};
	}
	sampled_doubt_others(places + from, nplaces - from, lost_a_minute(ds->ledger));
	return 0;
}

static int list_all(const struct stack_groups *ds, struct group_sample **out, size_t *n)
{
	const struct sampled *s;

	*n = 0;
	for (size_t i = 0; i < ds->n; i++)
		for (s = ds->all[i].sampled; s; s = s->next)
			(*n)++;
	*out = calloc(*n + 1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	*n = 0;
	for (size_t i = 0; i < ds->n; i++) {
		for (s = ds->all[i].sampled; s; s = s->next) {
			struct group_sample *j = &(*out)[(*n)++];

			*j = (struct group_sample){ .group = i, .process = s->process };
			sampled_conclude(s, seconds_of(ds->ledger, s->process), &j->its);
		}
	}
	return 0;
}

/* @all in the order of the groups. */
static int sum_up(const struct group_sample *all, size_t n, struct summary_sample *judged)
{
	cleanup_free struct summary_sample *several = calloc(n + 1, sizeof(*several));

	if (!several)
		return -ENOMEM;
	for (size_t i = 0, to; i < n; i = to) {
		for (to = i; to < n && all[to].group == all[i].group; to++)
			several[to - i] = all[to].its;
		if (to == i + 1)
			judged[all[i].group] = several[0];
		else
			sampled_sum(several, to - i, &judged[all[i].group]);
	}
	return 0;
}

/* The later stack groups of a path have what its first one has. */
static void share(const struct stack_groups *ds, struct summary_sample *judged)
{
	for (size_t i = 0; i < ds->n; i++) {
		const uint32_t of = ds->all[ds->all[i].first].twin;

		if (ds->all[i].sampled && is_a_place(ds, of))
			judged[i] = judged[of];
	}
}

int group_samples_judge(const struct stack_groups *ds, struct group_samples *out)
{
	int r;

	*out = (struct group_samples){ 0 };
	r = list_all(ds, &out->all, &out->n);
	out->judged = calloc(ds->n + 1, sizeof(*out->judged));
	out->list = calloc(ds->ledger->merged.nprocesses + 1, sizeof(*out->list));
	if (r < 0 || !out->judged || !out->list)
		return -ENOMEM;
	qsort(out->all, out->n, sizeof(*out->all), by_process);
	r = doubt_others(ds, out->all, out->n);
	qsort(out->all, out->n, sizeof(*out->all), by_group);
	if (r == 0)
		r = sum_up(out->all, out->n, out->judged);
	share(ds, out->judged);
	return r;
}

void group_samples_fini(struct group_samples *s)
{
	free(s->judged);
	free(s->all);
	free(s->list);
	*s = (struct group_samples){ 0 };
}

static size_t first_of(const struct group_samples *s, size_t stack_group)
{
	size_t low = 0, high = s->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (s->all[middle].group < stack_group)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t group_samples_shares(struct group_samples *s, size_t stack_group, struct summary_share **list)
{
	const bool known = s->judged[stack_group].survival.kind != SURVIVAL_UNKNOWN;
	size_t n = 0;

	*list = s->list;
	for (size_t i = first_of(s, stack_group); i < s->n && s->all[i].group == stack_group; i++) {
		const struct summary_sample *its = &s->all[i].its;
		const double bytes = known ? its->kept_bytes.value : its->may_keep_bytes.value;

		if (bytes >= 1)
			s->list[n++] = (struct summary_share){ s->all[i].process, (uint64_t)fmin(bytes, 1e18) };
	}
	return n;
}

/* SPDX-License-Identifier: MIT */
/*
 * merge_order: see merge_order.h. Frames are ranked first; then two stacks are compared by the ranks of their
 * frames, from the outermost one inward, so that stacks with a common beginning are neighbours.
 */
#include "report/merge/merge_order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct sorter {
	const struct ledger *l;
	uint32_t *frame_rank, *stack_rank;	/* by index */
	uint32_t **paths;			/* by stack: its depth, and the ranks of its frames */
};

static uint32_t *numbers(size_t n)
{
	uint32_t *all = malloc((n + 1) * sizeof(*all));

	for (size_t i = 0; all && i < n; i++)
		all[i] = (uint32_t)i;
	return all;
}

int merge_order_as_is(const struct ledger *l, struct merge_order *out)
{
	*out = (struct merge_order){
		.families = numbers(l->nbooks), .stacks = numbers(l->defs.nstacks),
		.processes = numbers(l->merged.nprocesses), .groups = numbers(l->merged.ngroups),
		.nstacks = l->defs.nstacks,
	};
	return out->families && out->stacks && out->processes && out->groups ? 0 : -ENOMEM;
}

void merge_order_fini(struct merge_order *o)
{
	free(o->families);
	free(o->stacks);
	free(o->processes);
	free(o->groups);
}

/* None is not the same as an empty one. */
static int text_order(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) : (a != NULL) - (b != NULL);
}

static int number_order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* --- families --- */

static int compare_families(const void *pa, const void *pb, void *ctx)
{
	const struct defs_family *families = ((const struct sorter *)ctx)->l->defs.families;
	const struct defs_family *a = &families[*(const uint32_t *)pa], *b = &families[*(const uint32_t *)pb];
	int order = text_order(a->name, b->name);

	return order ? order : (2 * a->refs + a->ranges) - (2 * b->refs + b->ranges);
}

/* --- frames --- */

static const char *module_text(const struct defs *d, uint32_t module)
{
	const struct defs_module *m = module == DEFS_NONE ? NULL : &d->modules[module];

	return !m ? "" : m->build_id && *m->build_id ? m->build_id : m->path;
}

static int compare_frames(const void *pa, const void *pb, void *ctx)
{
	const struct defs *d = &((const struct sorter *)ctx)->l->defs;
	const struct defs_frame *a = &d->frames[*(const uint32_t *)pa],
		*b = &d->frames[*(const uint32_t *)pb];
	int order = a->module == b->module ? 0 : text_order(module_text(d, a->module), module_text(d,
			b->module));

	if (!order)
		order = number_order(a->pc, b->pc);
	if (!order)
		order = a->exact - b->exact;
	if (!order && a->module == DEFS_NONE)
		order = text_order(a->nnames ? d->names[a->names].function : NULL,
				   b->nnames ? d->names[b->names].function : NULL);
	return order;
}

static int rank(uint32_t *sorted, size_t n, int (*compare)(const void *, const void *, void *),
		struct sorter *s,
		uint32_t **out)
{
	*out = malloc((n + 1) * sizeof(**out));
	if (!sorted || !*out)
		return -ENOMEM;
	if (n)
		qsort_r(sorted, n, sizeof(*sorted), compare, s);
	for (size_t i = 0; i < n; i++)
		(*out)[sorted[i]] = (uint32_t)i;
	return 0;
}

static int rank_frames(struct sorter *s)
{
	cleanup_free uint32_t *sorted = numbers(s->l->defs.nframes);

	return rank(sorted, s->l->defs.nframes, compare_frames, s, &s->frame_rank);
}

/* --- stacks --- */

static int make_path(struct sorter *s, uint32_t stack)
{
	const uint32_t depth = defs_path(&s->l->defs, stack, NULL, 0);
	uint32_t *path = malloc(((size_t)depth + 1) * sizeof(*path));

	if (!path)
		return -ENOMEM;
	s->paths[stack] = path;
	path[0] = depth;
	defs_path(&s->l->defs, stack, path + 1, depth);
	for (uint32_t i = 1; i <= depth; i++)
		path[i] = s->frame_rank[path[i]];
	return 0;
}

static int compare_paths(const uint32_t *a, const uint32_t *b)
{
	for (uint32_t i = 0; i < a[0] && i < b[0]; i++) {
		int order = number_order(a[a[0] - i], b[b[0] - i]);

		if (order)
			return order;
	}
	return number_order(a[0], b[0]);
}

static int compare_stacks(const void *pa, const void *pb, void *ctx)
{
	const struct sorter *s = ctx;
	const struct defs *d = &s->l->defs;
	const struct defs_stack *a = &d->stacks[*(const uint32_t *)pa],
		*b = &d->stacks[*(const uint32_t *)pb];
	int order = compare_paths(s->paths[*(const uint32_t *)pa], s->paths[*(const uint32_t *)pb]);

	if (!order)
		order = a->end - b->end;
	return order ? order : text_order(a->tag == DEFS_NONE ? NULL : d->tags[a->tag].text,
					  b->tag == DEFS_NONE ? NULL : d->tags[b->tag].text);
}

static int sort_stacks(struct sorter *s, uint32_t *sorted)
{
	const size_t n = s->l->defs.nstacks;
	int r = rank_frames(s);

	s->paths = calloc(n + 1, sizeof(*s->paths));
	if (!s->paths)
		return -ENOMEM;
	for (uint32_t i = 0; i < n && r == 0; i++)
		r = make_path(s, i);
	return r < 0 ? r : rank(sorted, n, compare_stacks, s, &s->stack_rank);
}

static int compare_groups(const void *pa, const void *pb, void *ctx)
{
	const struct sorter *s = ctx;
	const struct merged_group *groups = s->l->merged.groups;
	const struct merged_group *a = &groups[*(const uint32_t *)pa], *b = &groups[*(const uint32_t *)pb];
	int order = compare_families(&a->family, &b->family, ctx);

	if (!order)
		order = number_order(s->stack_rank[a->stack], s->stack_rank[b->stack]);
	return order ? order : (int)a->verdict - (int)b->verdict;
}

/* --- processes --- */

static int compare_texts(const struct fact_process *a, const struct fact_process *b)
{
	int order = text_order(a->host, b->host);

	if (!order)
		order = text_order(a->labels, b->labels);
	if (!order)
		order = text_order(a->comm, b->comm);
	if (!order)
		order = text_order(a->exe, b->exe);
	return order ? order : text_order(a->how, b->how);
}

static int compare_processes(const void *pa, const void *pb, void *ctx)
{
	const struct merged_process *all = ((const struct sorter *)ctx)->l->merged.processes;
	const struct fact_process *a = &all[*(const uint32_t *)pa].its, *b = &all[*(const uint32_t *)pb].its;
	int order = compare_texts(a, b);

	if (!order)
		order = number_order((uint32_t)a->pid, (uint32_t)b->pid);
	if (!order)
		order = number_order((uint64_t)a->start_ns, (uint64_t)b->start_ns);
	if (!order)
		order = memcmp(a->run_id, b->run_id, sizeof(a->run_id));
#define X(name) if (!order) order = number_order(a->name, b->name);
	FACT_PROCESS_NUMBERS(X)
#undef X
	return order;
}

/* --- all --- */

static void sorter_fini(struct sorter *s)
{
	for (size_t i = 0; s->paths && i < s->l->defs.nstacks; i++)
		free(s->paths[i]);
	free(s->paths);
	free(s->frame_rank);
	free(s->stack_rank);
}

int merge_order_by_content(const struct ledger *l, struct merge_order *out)
{
	struct sorter s = { .l = l };
	int r = merge_order_as_is(l, out);

	if (r == 0)
		r = sort_stacks(&s, out->stacks);
	if (r == 0) {
		qsort_r(out->families, l->nbooks, sizeof(uint32_t), compare_families, &s);
		qsort_r(out->processes, l->merged.nprocesses, sizeof(uint32_t), compare_processes, &s);
		qsort_r(out->groups, l->merged.ngroups, sizeof(uint32_t), compare_groups, &s);
	}
	sorter_fini(&s);
	return r;
}

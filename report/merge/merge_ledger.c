/* SPDX-License-Identifier: MIT */
/* merge_ledger: see merge_ledger.h. */
#include "report/merge/merge_ledger.h"

#include <errno.h>
#include <stdlib.h>

#include "report/merge/merge_lists.h"
#include "report/merge/merge_order.h"

struct adder {
	struct merge_map map;
	struct ledger *into, *from;
	const struct merge_order *order;
	uint32_t *processes, *groups;	/* of from -> of into */
};

/* @from has been advanced to the time of @into. */
static int add_series(struct series *to, const struct series *from)
{
	return from->points ? series_add(to, series_span_us(from), from->points, from->n) : 0;
}

/* --- places --- */

static int add_place(struct adder *a, uint32_t family, uint32_t stack)
{
	const struct place *p = ledger_place(a->from, family, stack);
	uint32_t to_family, to_stack;
	struct place *to;
	int r;

	if (!p)
		return 0;
	r = merge_map_family(&a->map, family, &to_family);
	if (r == 0)
		r = merge_map_stack(&a->map, stack, &to_stack);
	if (r < 0)
		return r;
	r = ledger_add_live(a->into, to_family, to_stack, 0, 0);
	if (r < 0)
		return r;
	to = &a->into->books[to_family].places[to_stack];
	to->allocs += p->allocs;
	to->frees += p->frees;
	to->allocated_bytes += p->allocated_bytes;
	r = add_series(&to->series, &p->series);
	return r < 0 ? r : ledger_add_live(a->into, to_family, to_stack, p->blocks, p->bytes);
}

static int add_places(struct adder *a)
{
	int r = 0;

	for (uint32_t f = 0; f < a->from->nbooks && r == 0; f++) {
		const uint32_t family = a->order->families[f];

		for (size_t i = 0; i < a->order->nstacks && r == 0; i++)
			r = add_place(a, family, a->order->stacks[i]);
	}
	return r;
}

static int add_older_of(struct adder *a, uint32_t family)
{
	struct older_sizes *from = &a->from->books[family].older;
	uint32_t to;
	int r = older_sizes_pass(from, a->from->now_us);

	if (r == 0)
		r = merge_map_family(&a->map, family, &to);
	for (size_t i = 0; i < from->n && r == 0; i++) {
		const struct older_size *its = &from->all[i];
		const struct older_freed freed = {
			.size = its->size, .blocks = its->blocks, .bytes = its->bytes,
			.span_us = series_span_us(&its->series), .points = its->series.points,
			.n = its->series.points ? its->series.n : 0,
		};

		r = older_sizes_add(&a->into->books[to].older, a->into->now_us, &freed);
	}
	return r;
}

static int add_older(struct adder *a)
{
	int r = 0;

	for (uint32_t f = 0; f < a->from->nbooks && r == 0; f++)
		if (a->from->books[a->order->families[f]].older.n)
			r = add_older_of(a, a->order->families[f]);
	return r;
}

/* --- estimates --- */

/* A process may have several of one stack: its code was loaded twice. */
static int compare_samples(const void *pa, const void *pb)
{
	const struct fact_sample *a = pa, *b = pb;

#define ORDER(x) if (a->x != b->x) return a->x < b->x ? -1 : 1;
	ORDER(process) ORDER(seen) ORDER(site_hits) ORDER(exposed_us) ORDER(hits2) ORDER(hits_exposed) ORDER(late_seen)
#undef ORDER
	return 0;
}

static int add_samples_of(struct adder *a, uint32_t family, uint32_t stack)
{
	const struct ledger_sample *first = ledger_sample(a->from, family, stack), *s;
	cleanup_free struct fact_sample *all = NULL;
	uint32_t to_family, to_stack;
	size_t n = 0;
	int r = first ? merge_map_family(&a->map, family, &to_family) : 0;

	if (!first || r < 0)
		return r;
	r = merge_map_stack(&a->map, stack, &to_stack);
	for (s = first; s; s = ledger_sample_next(a->from, s))
		n++;
	all = calloc(n, sizeof(*all));
	if (!all)
		return -ENOMEM;
	n = 0;
	for (s = first; s; s = ledger_sample_next(a->from, s)) {
		all[n] = s->its;
		all[n++].process = a->processes[s->process];
	}
	qsort(all, n, sizeof(*all), compare_samples);
	for (size_t i = 0; i < n && r == 0; i++)
		r = ledger_add_sample(a->into, to_family, to_stack, all[i].process, &all[i]);
	return r;
}

static int add_samples(struct adder *a)
{
	int r = 0;

	for (uint32_t f = 0; f < a->from->nbooks && r == 0 && a->from->samples.n; f++)
		for (size_t i = 0; i < a->order->nstacks && r == 0; i++)
			r = add_samples_of(a, a->order->families[f], a->order->stacks[i]);
	if (a->from->samples.has_budget)
		ledger_add_budget(a->into, &a->from->samples.budget);
	return r;
}

/* --- groups --- */

static int compare_parts(const void *pa, const void *pb)
{
	const struct fact_part *a = pa, *b = pb;

	return (a->process > b->process) - (a->process < b->process);
}

/* In the order of the processes, which takes the least memory. */
static int add_parts(const struct adder *a, const struct parts *from, struct parts *to)
{
	cleanup_free struct fact_part *all = calloc(from->count + 1, sizeof(*all));
	struct parts_place place = { 0 };
	size_t n = 0;
	int r = all ? 0 : -ENOMEM;

	while (r == 0 && n < from->count && parts_next(from, &place, &all[n])) {
		all[n].process = a->processes[all[n].process];
		n++;
	}
	if (n)
		qsort(all, n, sizeof(*all), compare_parts);
	for (size_t i = 0; i < n && r == 0; i++)
		r = parts_add(to, all[i].process, all[i].bytes);
	return r;
}

static int add_group(struct adder *a, uint32_t index)
{
	struct merged_group *g = &a->from->merged.groups[index];
	const uint64_t now_us = a->into->now_us;
	struct merged_group *to;
	uint32_t family, stack;
	int r = merge_map_family(&a->map, g->family, &family);

	if (r == 0)
		r = merge_map_stack(&a->map, g->stack, &stack);
	if (r == 0)
		r = series_advance(&g->births, now_us, g->bytes);
	if (r < 0)
		return r;
	to = merged_group(&a->into->merged, family, stack, g->verdict, now_us);
	a->groups[index] = to ? (uint32_t)(to - a->into->merged.groups) : 0;
	r = to ? add_series(&to->births, &g->births) : -ENOMEM;
	if (r < 0)
		return r;
	merged_group_add(to, g);
	return add_parts(a, &g->parts, &to->parts);
}

static int add_groups(struct adder *a)
{
	const struct merged *from = &a->from->merged;
	int r = 0;

	a->groups = calloc(from->ngroups + 1, sizeof(*a->groups));
	if (!a->groups)
		return -ENOMEM;
	for (size_t i = 0; i < from->ngroups && r == 0; i++)
		r = add_group(a, a->order->groups[i]);
	for (size_t i = 0; i < from->nhangs && r == 0; i++) {
		const struct merged_hang *its = &from->hangs[i];
		const struct merged_hang hang = { a->groups[its->root], a->groups[its->group], its->blocks,
						  its->bytes };

		r = merged_add_hang(&a->into->merged, &hang);
	}
	return r;
}

static int add_bins(struct adder *a)
{
	const struct merged *from = &a->from->merged;
	int r = 0;

	for (uint32_t i = 0; i < from->nbins && r == 0; i++) {
		struct merged_bins *to;
		uint32_t family;

		r = merge_map_family(&a->map, i, &family);
		if (r < 0)
			break;
		to = merged_bins(&a->into->merged, family);
		if (!to)
			return -ENOMEM;
		histogram_merge(&to->sizes, &from->bins[i].sizes);
		histogram_merge(&to->ages, &from->bins[i].ages);
	}
	return r;
}

/* --- processes --- */

static int add_processes(struct adder *a)
{
	struct merged *from = &a->from->merged;
	int r = 0;

	a->processes = calloc(from->nprocesses + 1, sizeof(*a->processes));
	if (!a->processes)
		return -ENOMEM;
	for (size_t i = 0; i < from->nprocesses && r == 0; i++) {
		const uint32_t index = a->order->processes[i];
		struct fact_process p = from->processes[index].its;

		p.sums = from->processes[index].sums;
		p.nsums = VERDICT_COUNT;
		a->processes[index] = (uint32_t)a->into->merged.nprocesses;
		r = ledger_add_process(a->into, &p);
	}
	return r;
}

/* --- totals --- */

static void add_totals(struct ledger *into, const struct ledger *from)
{
	into->allocs += from->allocs;
	into->frees += from->frees;
	into->unmatched_frees += from->unmatched_frees;
	into->double_frees += from->double_frees;
#define X(name, reason) into->name += from->name;
	LEDGER_DOUBTS(X)
#undef X
}

static int add_book_totals(struct adder *a)
{
	int r = 0;

	for (uint32_t i = 0; i < a->from->nbooks && r == 0; i++) {
		uint32_t family;

		if (!a->from->books[i].acquired && !a->from->books[i].released)
			continue;
		r = merge_map_family(&a->map, i, &family);
		if (r < 0)
			break;
		a->into->books[family].acquired += a->from->books[i].acquired;
		a->into->books[family].released += a->from->books[i].released;
	}
	return r;
}

static int add_all(struct adder *a)
{
	int r = add_processes(a);

	if (r == 0)
		r = add_places(a);
	if (r == 0)
		r = add_older(a);
	if (r == 0)
		r = add_samples(a);
	if (r == 0)
		r = add_groups(a);
	if (r == 0)
		r = add_bins(a);
	if (r == 0)
		r = add_book_totals(a);
	if (r < 0)
		return r;
	add_totals(a->into, a->from);
	return merge_lists(&a->map, a->from, a->into);
}

static int add(struct merge_defs *to, struct ledger *from, const struct merge_order *order)
{
	struct adder a = { .into = to->into, .from = from, .order = order };
	int r = merge_map_init(&a.map, to, from);

	ledger_pass(to->into, from->now_us);
	ledger_pass(from, to->into->now_us);
	if (r == 0)
		r = add_all(&a);
	free(a.processes);
	free(a.groups);
	merge_map_fini(&a.map);
	return r;
}

int merge_ledger(struct merge_defs *to, struct ledger *from)
{
	struct merge_order order;
	int r = merge_order_as_is(from, &order);

	if (r == 0)
		r = add(to, from, &order);
	merge_order_fini(&order);
	return r;
}

int merge_sorted(struct ledger *from, struct ledger *out)
{
	struct merge_order order = { 0 };
	struct merge_defs defs;
	int r = ledger_init(out);

	if (r < 0)
		return r;
	merge_defs_init(&defs, out);
	merge_lists_sort(from);
	r = merge_order_by_content(from, &order);
	if (r == 0)
		r = add(&defs, from, &order);
	merge_lists_sort_stacks(out);
	merge_order_fini(&order);
	merge_defs_fini(&defs);
	return r;
}

/* SPDX-License-Identifier: MIT */
/*
 * by_stack: see by_stack.h.
 *
 *	place		each group of the summary is added to one of the view: lost ones first, since how many
 *			they are decides where live ones of their stack go
 *	lost with	what hangs on a group is translated to the view
 *	growth		series are added up and classified again
 *	sort
 */
#include "report/model/by_stack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/growth.h"
#include "report/model/summary_parts.h"

#define FEW 8		/* blocks are few compared to so many times as many */
#define NONE SIZE_MAX

/* A group of the summary. */
struct source {
	size_t stack;		/* index of the first group of its stack: the same for all of a stack */
	size_t to;		/* index of its group in the view, before that is sorted */
	uint64_t own;		/* bytes of it that are lost with a group of the same stack: a part of its row */
};

struct maker {
	const struct summary *s;
	struct summary *view;
	struct source *sources;			/* by index in s->groups */
	size_t *lost, *held, *live;		/* by `stack`: index in the view; NONE: the stack has no such group */
	size_t *count;		/* by index in the view: of how many groups, or parts of groups, it was made */
};

static struct summary_sum sum_of(const struct summary_group *g)
{
	return (struct summary_sum){ g->blocks, g->bytes };
}

static void add_sum(struct summary_sum *to, uint64_t blocks, uint64_t bytes)
{
	to->blocks += blocks;
	to->bytes += bytes;
}

/* --- place --- */

static void find_stacks(struct maker *mk)
{
	const struct summary *s = mk->s;

	for (size_t i = 0; i < s->ngroups; i++) {
		mk->sources[i].stack = s->groups[i].split ? summary_index(s, s->groups[i].split_from) : i;
		mk->lost[i] = mk->held[i] = mk->live[i] = NONE;
	}
	for (size_t i = 0; i < s->ngroups; i++)
		for (size_t h = 0; h < s->groups[i].nhangs; h++) {
			struct source *on = &mk->sources[summary_index(s, s->groups[i].hangs[h].serial)];

			if (on->stack == mk->sources[i].stack)
				on->own += s->groups[i].hangs[h].bytes;
		}
}

static void merge(struct summary_group *to, const struct summary_group *g)
{
	to->blocks += g->blocks;
	to->bytes += g->bytes;
	byte_sample_merge(&to->sample_of, &g->sample_of);
	to->kind.indirect_blocks += g->kind.indirect_blocks;
	to->kind.indirect_bytes += g->kind.indirect_bytes;
	if (g->oldest_s > to->oldest_s)
		to->oldest_s = g->oldest_s;
	if (g->youngest_s < to->youngest_s)
		to->youngest_s = g->youngest_s;
}

/* What a view owns is its own. */
static struct summary_group copy_of(const struct summary_group *g, size_t index)
{
	struct summary_group own = *g;

	own.series = NULL;
	own.hangs = NULL;
	own.shares = NULL;
	own.npoints = own.nhangs = own.nshares = 0;
	own.serial = index;
	own.parts[g->verdict] = sum_of(g);
	return own;
}

/* Add group @i of the summary to the group of the view whose index is at @at, or is going to be. */
static int place(struct maker *mk, size_t i, size_t *at)
{
	const struct summary_group *g = &mk->s->groups[i];
	struct summary_group *to;

	if (*at == NONE) {
		*at = mk->view->ngroups++;
		to = &mk->view->groups[*at];
		*to = copy_of(g, *at);
		to->split = false;
	} else {
		to = &mk->view->groups[*at];
		merge(to, g);
	}
	to->parts[g->verdict] = sum_of(g);
	mk->sources[i].to = *at;
	mk->count[*at]++;
	return summary_merge_shares(to, g->shares, g->nshares);
}

static bool is_few(const struct maker *mk, const struct summary_group *g, size_t beside)
{
	const struct summary_sum *parts = beside == NONE ? NULL : mk->view->groups[beside].parts;

	return parts && g->blocks * FEW <= parts[VERDICT_DEFINITE].blocks + parts[VERDICT_POSSIBLE].blocks +
						   parts[VERDICT_INDIRECT].blocks;
}

static int place_lost(struct maker *mk, size_t i)
{
	const struct summary_group *g = &mk->s->groups[i];
	const size_t stack = mk->sources[i].stack;
	bool apart = g->verdict == VERDICT_INDIRECT && g->held && mk->sources[i].own < g->bytes;

	return place(mk, i, apart ? &mk->held[stack] : &mk->lost[stack]);
}

static int place_live(struct maker *mk, size_t i)
{
	const struct summary_group *g = &mk->s->groups[i];
	const size_t stack = mk->sources[i].stack;

	if (is_few(mk, g, mk->lost[stack]))
		return place(mk, i, &mk->lost[stack]);
	if (mk->lost[stack] == NONE && is_few(mk, g, mk->held[stack]))
		return place(mk, i, &mk->held[stack]);
	return place(mk, i, &mk->live[stack]);
}

static int place_all(struct maker *mk)
{
	int r = 0;

	for (size_t i = 0; i < mk->s->ngroups && r == 0; i++)
		if (summary_is_lost(mk->s->groups[i].verdict))
			r = place_lost(mk, i);
	for (size_t i = 0; i < mk->s->ngroups && r == 0; i++)
		if (!summary_is_lost(mk->s->groups[i].verdict))
			r = place_live(mk, i);
	return r;
}

/* The groups of a stack are a ring. */
static void link_stack(struct maker *mk, size_t stack)
{
	const size_t all[] = { mk->lost[stack], mk->held[stack], mk->live[stack] };
	size_t of[3], n = 0;

	for (size_t i = 0; i < 3; i++)
		if (all[i] != NONE)
			of[n++] = all[i];
	for (size_t i = 0; n > 1 && i < n; i++) {
		mk->view->groups[of[i]].split = true;
		mk->view->groups[of[i]].split_from = of[(i + 1) % n];
	}
}

static void name_verdicts(struct maker *mk)
{
	for (size_t i = 0; i < mk->s->ngroups; i++)
		link_stack(mk, i);
	for (size_t i = 0; i < mk->view->ngroups; i++) {
		struct summary_group *g = &mk->view->groups[i];
		const struct summary_sum *parts = g->parts;

		if (mk->count[i] < 2)
			continue;
		if (parts[VERDICT_DEFINITE].blocks || parts[VERDICT_POSSIBLE].blocks)
			g->verdict = parts[VERDICT_POSSIBLE].bytes >
						     parts[VERDICT_DEFINITE].bytes + parts[VERDICT_INDIRECT].bytes ?
					     VERDICT_POSSIBLE : VERDICT_DEFINITE;
		else if (parts[VERDICT_INDIRECT].blocks)
			g->verdict = VERDICT_INDIRECT;
		else
			g->verdict = parts[VERDICT_UNKNOWN].bytes > parts[VERDICT_REACHABLE].bytes ?
					     VERDICT_UNKNOWN : VERDICT_REACHABLE;
		g->held = g->held && g->verdict == VERDICT_INDIRECT;
	}
}

/* --- lost with --- */

/*
 * What is lost with a group is counted by the age of its first block, what hangs on it by the ages of its own:
 * with --older-than the one need not contain the other.
 */
static uint64_t rest(uint64_t all, uint64_t part)
{
	return all > part ? all - part : 0;
}

static void add_indirect(struct summary_group *g, uint64_t blocks, uint64_t bytes)
{
	g->blocks += blocks;
	g->bytes += bytes;
	add_sum(&g->parts[VERDICT_INDIRECT], blocks, bytes);
}

/*
 * What hangs is of the same stack: its blocks are those of the group @to of the view, no longer those of
 * @from, if that is another one.
 */
static void take_own(struct maker *mk, size_t to, size_t from, const struct summary_hang *hang)
{
	struct summary_group *g = &mk->view->groups[to];

	g->kind.indirect_blocks = rest(g->kind.indirect_blocks, hang->blocks);
	g->kind.indirect_bytes = rest(g->kind.indirect_bytes, hang->bytes);
	if (to == from)
		return;
	add_indirect(g, hang->blocks, hang->bytes);
	add_indirect(&mk->view->groups[from], -hang->blocks, -hang->bytes);
	mk->count[to]++;
	mk->count[from]++;
}

static int compare_serials(const void *pa, const void *pb)
{
	const struct summary_hang *a = pa, *b = pb;

	return (a->serial > b->serial) - (a->serial < b->serial);
}

static int compare_hangs(const void *pa, const void *pb)
{
	const struct summary_hang *a = pa, *b = pb;
	int order = summary_compare_numbers(a->bytes, b->bytes);

	return order ? order : compare_serials(pa, pb);
}

/* Several groups of the summary may have been made one, on each of which some of the same group hangs. */
static void combine_hangs(struct summary_group *g)
{
	size_t n = 0;

	qsort(g->hangs, g->nhangs, sizeof(*g->hangs), compare_serials);
	for (size_t i = 0; i < g->nhangs; i++) {
		if (n && g->hangs[n - 1].serial == g->hangs[i].serial) {
			g->hangs[n - 1].blocks += g->hangs[i].blocks;
			g->hangs[n - 1].bytes += g->hangs[i].bytes;
		} else {
			g->hangs[n++] = g->hangs[i];
		}
	}
	g->nhangs = n;
	qsort(g->hangs, n, sizeof(*g->hangs), compare_hangs);
}

static int add_hangs(struct maker *mk, size_t i)
{
	const struct summary_group *from = &mk->s->groups[i];
	struct summary_group *g = &mk->view->groups[mk->sources[i].to];
	struct summary_hang *all;

	if (!from->nhangs)
		return 0;
	all = reallocarray(g->hangs, g->nhangs + from->nhangs, sizeof(*all));
	if (!all)
		return -ENOMEM;
	g->hangs = all;
	for (size_t h = 0; h < from->nhangs; h++) {
		const size_t target = summary_index(mk->s, from->hangs[h].serial);

		if (mk->sources[target].stack == mk->sources[i].stack) {
			take_own(mk, mk->sources[i].to, mk->sources[target].to, &from->hangs[h]);
			continue;
		}
		all[g->nhangs] = from->hangs[h];
		all[g->nhangs++].serial = mk->sources[target].to;
	}
	return 0;
}

/* A row counts what the totals and the shares count: not what is hidden, nor what was not seen allocated. */
static void set_apart(struct summary_group *g)
{
	struct summary_sum sum = { 0, 0 };

	for (size_t h = 0; h < g->nhangs; h++)
		add_sum(&sum, g->hangs[h].blocks, g->hangs[h].bytes);
	g->uncounted = (struct summary_sum){ rest(g->kind.indirect_blocks, sum.blocks),
					     rest(g->kind.indirect_bytes, sum.bytes) };
	g->kind.indirect_blocks = sum.blocks;
	g->kind.indirect_bytes = sum.bytes;
}

static int lost_with(struct maker *mk)
{
	int r = 0;

	for (size_t i = 0; i < mk->s->ngroups && r == 0; i++)
		r = add_hangs(mk, i);
	for (size_t i = 0; i < mk->view->ngroups && r == 0; i++) {
		if (mk->view->groups[i].nhangs)
			combine_hangs(&mk->view->groups[i]);
		set_apart(&mk->view->groups[i]);
	}
	return r;
}

/* --- growth --- */

/* A trace may have more lost with a group than the group has. */
static uint64_t share_of(uint64_t bytes, double share)
{
	if (!(share > 0))
		return 0;
	return share < 1 ? (uint64_t)(share * (double)bytes) : bytes;
}

/* Behind the first @i points: before the first one none of the older blocks was freed. */
static uint64_t older_at(const struct growth_point *points, size_t n, size_t i)
{
	return n ? points[i ? i - 1 : 0].older : 0;
}

/* To the group's series add @share of another one: what is live at each point of either. */
static int add_series(struct summary_group *g, const struct growth_point *points, size_t n, double share)
{
	struct growth_point *sum = calloc(g->npoints + n + 1, sizeof(*sum)), *own = g->series;
	size_t a = 0, b = 0, k = 0;

	if (!sum)
		return -ENOMEM;
	for (; a < g->npoints || b < n; k++) {
		bool next_a = b == n || (a < g->npoints && !(points[b].seconds < own[a].seconds)),
		     next_b = a == g->npoints || (b < n && !(own[a].seconds < points[b].seconds));

		a += next_a;
		b += next_b;
		sum[k].seconds = next_a ? own[a - 1].seconds : points[b - 1].seconds;
		sum[k].bytes = (a ? own[a - 1].bytes : 0) + (b ? share_of(points[b - 1].bytes, share) : 0);
		sum[k].older = older_at(own, g->npoints, a) + share_of(older_at(points, n, b), share);
	}
	free(own);
	g->series = sum;
	g->npoints = k;
	return 0;
}

/* What hangs on a group is a part of another group, which is taken to have grown evenly in all its parts. */
static int add_hung(struct maker *mk, struct summary_group *g)
{
	int r = 0;

	for (size_t h = 0; h < g->nhangs && r == 0; h++) {
		const struct summary_group *other = &mk->view->groups[g->hangs[h].serial];
		double all = (double)other->parts[VERDICT_INDIRECT].bytes;

		if (all > 0)
			r = add_series(g, other->series, other->npoints, (double)g->hangs[h].bytes / all);
	}
	return r;
}

/* Lost blocks are never freed; the others of the group come and go. */
static void classify(const struct maker *mk, struct summary_group *g)
{
	const struct summary_sum *parts = g->parts;
	uint64_t live = parts[VERDICT_REACHABLE].blocks + parts[VERDICT_UNKNOWN].blocks;

	if (live == g->blocks)
		growth_classify(g->series, g->npoints, mk->s->run.seconds, g->allocs, g->frees, &g->growth);
	else
		growth_classify(g->series, g->npoints, mk->s->run.seconds,
				g->blocks + g->kind.indirect_blocks + live, live, &g->growth);
	growth_see_ages(&g->growth, mk->s->run.seconds, g->frees, g->blocks, g->youngest_s);
	if (growth_rises(&g->growth) && summary_grows_by_chance(g, g->allocs + g->frees))
		g->growth = (struct growth){ .shape = GROWTH_UNKNOWN };
}

/* Its part that is lost with a row of the same stack is taken to have grown as the rest of it. */
static int add_own_series(struct maker *mk, const struct source *source, const struct summary_group *g)
{
	const size_t lost = mk->lost[source->stack];
	const bool apart = source->own && lost != NONE && source->to != lost;
	const double own = apart ? (double)source->own / (double)g->bytes : 0;
	int r = add_series(&mk->view->groups[source->to], g->series, g->npoints, 1 - own);

	if (r == 0 && own > 0)
		r = add_series(&mk->view->groups[lost], g->series, g->npoints, own);
	return r;
}

static int add_growth(struct maker *mk)
{
	int r = 0;

	for (size_t i = 0; i < mk->s->ngroups && r == 0; i++)
		r = add_own_series(mk, &mk->sources[i], &mk->s->groups[i]);
	for (size_t i = 0; i < mk->view->ngroups && r == 0; i++) {
		struct summary_group *g = &mk->view->groups[i];

		r = add_hung(mk, g);
		if (mk->count[i] > 1 || g->nhangs)
			classify(mk, g);
	}
	return r;
}

/* --- all --- */

static int make(struct maker *mk, struct by_stack *out)
{
	int r;

	find_stacks(mk);
	r = place_all(mk);
	name_verdicts(mk);
	if (r == 0)
		r = lost_with(mk);
	if (r == 0)
		r = add_growth(mk);
	if (r == 0)
		r = summary_sort_groups(&out->view);
	for (size_t i = 0; i < mk->s->ngroups && r == 0; i++)
		out->index_of[i] = summary_index(&out->view, mk->sources[i].to);
	return r;
}

int by_stack_copy(const struct summary *s, struct by_stack *out)
{
	const size_t n = s->ngroups + 1;

	*out = (struct by_stack){ .view = *s };
	out->view.groups = calloc(n, sizeof(*out->view.groups));
	out->view.index_of = calloc(n, sizeof(*out->view.index_of));
	out->index_of = calloc(n, sizeof(*out->index_of));
	if (!out->view.groups || !out->view.index_of || !out->index_of)
		return -ENOMEM;
	for (size_t i = 0; i < s->ngroups; i++) {
		out->view.groups[i] = copy_of(&s->groups[i], i);
		out->view.index_of[i] = out->index_of[i] = i;
	}
	return 0;
}

int by_stack_make(const struct summary *s, struct by_stack *out)
{
	const size_t n = s->ngroups + 1;
	cleanup_free struct source *sources = calloc(n, sizeof(*sources));
	cleanup_free size_t *indices = calloc(4 * n, sizeof(*indices));
	struct maker mk = { s, &out->view, sources, indices, indices + n, indices + 2 * n, indices + 3 * n };

	*out = (struct by_stack){ .view = *s };
	out->view.ngroups = 0;
	out->view.groups = calloc(n, sizeof(*out->view.groups));
	out->view.index_of = NULL;
	out->index_of = calloc(n, sizeof(*out->index_of));
	if (!sources || !indices || !out->view.groups || !out->index_of)
		return -ENOMEM;
	return make(&mk, out);
}

void by_stack_fini(struct by_stack *b)
{
	for (size_t i = 0; b->view.groups && i < b->view.ngroups; i++) {
		free(b->view.groups[i].series);
		free(b->view.groups[i].hangs);
		free(b->view.groups[i].shares);
	}
	free(b->view.groups);
	free(b->view.index_of);
	free(b->index_of);
	*b = (struct by_stack){ 0 };
}

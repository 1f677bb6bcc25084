/* SPDX-License-Identifier: MIT */
#include "attach/top/top.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "report/model/sampled.h"
#include "report/names/expand.h"

void top_init(struct top *t)
{
	*t = (struct top){ .order = TOP_BYTES };
}

void top_fini(struct top *t)
{
	for (size_t i = 0; i < LEDGER_FAMILIES_MAX; i++)
		free(t->seen[i]);
	free(t->rows);
	select_free(t->filter);
}

/* --- order --- */

static double value_of(const struct top_row *r, enum top_order order)
{
	switch (order) {
	case TOP_GROWTH:
		return r->growth.bytes_per_minute;
	case TOP_RATE:
		return r->calls_per_second;
	case TOP_CALLS:
		return (double)r->more_calls;
	default:
		return (double)r->more_bytes;
	}
}

static int compare(const void *pa, const void *pb, void *ctx)
{
	const struct top_row *a = pa, *b = pb;
	const double x = value_of(a, *(enum top_order *)ctx), y = value_of(b, *(enum top_order *)ctx);

	if (x != y)
		return x > y ? -1 : 1;
	if (a->family != b->family)
		return a->family < b->family ? -1 : 1;
	return a->stack < b->stack ? -1 : a->stack > b->stack;
}

static void sort_and_choose(struct top *t, const struct top_row *chosen)
{
	if (t->n)
		qsort_r(t->rows, t->n, sizeof(*t->rows), compare, &t->order);
	for (size_t i = 0; chosen && i < t->n; i++) {
		if (t->rows[i].family == chosen->family && t->rows[i].stack == chosen->stack) {
			t->chosen = i;
			return;
		}
	}
	if (t->chosen >= t->n)
		t->chosen = t->n ? t->n - 1 : 0;
}

/* False: there is none that must stay chosen; the first one is a place, whatever row comes there. */
static bool chosen_row(const struct top *t, struct top_row *out)
{
	if (!t->chosen || t->chosen >= t->n)
		return false;
	*out = t->rows[t->chosen];
	return true;
}

void top_sort(struct top *t, enum top_order order)
{
	t->order = order;
	t->chosen = 0;
	sort_and_choose(t, NULL);
}

void top_choose(struct top *t, long by)
{
	const long to = (long)t->chosen + by, last = t->n ? (long)t->n - 1 : 0;

	t->chosen = (size_t)(to < 0 ? 0 : to > last ? last : to);
}

bool top_is_open(const struct top *t, const struct top_row *row)
{
	return t->has_open && t->open_family == row->family && t->open_stack == row->stack;
}

void top_open(struct top *t)
{
	if (t->chosen >= t->n)
		return;
	if (top_is_open(t, &t->rows[t->chosen])) {
		t->has_open = false;
		return;
	}
	t->has_open = true;
	t->open_family = t->rows[t->chosen].family;
	t->open_stack = t->rows[t->chosen].stack;
}

/* --- mark, filter --- */

/* Rows that the filter hides, and stacks that come later, count from the mark on, too. */
void top_mark(struct top *t, const struct ledger *l)
{
	t->marked = !t->marked;
	t->mark_us = t->marked ? l->now_us : 0;
	for (size_t f = 0; f < LEDGER_FAMILIES_MAX; f++) {
		for (size_t s = 0; s < t->nseen[f]; s++) {
			const bool known = t->marked && s < l->books[f].nplaces;

			t->seen[f][s].marked_bytes = known ? l->books[f].places[s].bytes : 0;
			t->seen[f][s].marked_calls = t->marked ? t->seen[f][s].calls : 0;
		}
	}
}

int top_filter(struct top *t, const char *regex, char *why, size_t why_size)
{
	struct select *filter = NULL;
	int r = 0;

	if (*regex)
		r = select_new(&filter);
	if (r == 0 && *regex)
		r = select_focus(filter, regex, why, why_size);
	if (r < 0) {
		select_free(filter);
		return r;
	}
	select_free(t->filter);
	t->filter = filter;
	snprintf(t->filter_text, sizeof(t->filter_text), "%s", regex);
	return 0;
}

/* --- rows --- */

/* What is kept of @n stacks; new ones had nothing. */
static int make_room(struct top *t, uint32_t family, size_t n)
{
	struct top_seen *seen;

	if (n <= t->nseen[family])
		return 0;
	seen = reallocarray(t->seen[family], n, sizeof(*seen));
	if (!seen)
		return -ENOMEM;
	memset(seen + t->nseen[family], 0, (n - t->nseen[family]) * sizeof(*seen));
	t->seen[family] = seen;
	t->nseen[family] = n;
	return 0;
}

static size_t course(const struct ledger *l, const struct place *p, struct growth_point points[TOP_POINTS])
{
	const double now = (double)l->now_us / 1e6, span = (double)series_span_us(&p->series) / 1e6;
	size_t n = 0;

	for (uint32_t i = 0; i < p->series.n && i < MMT_SERIES_POINTS; i++)
		points[n++] = (struct growth_point){ (i + 1) * span, series_point(&p->series, i), 0 };
	points[n++] = (struct growth_point){ now, p->bytes, 0 };
	return n;
}

size_t top_course(struct ledger *l, const struct top_row *row, struct growth_point points[TOP_POINTS])
{
	const struct place *p = row->estimated ? NULL : ledger_place(l, row->family, row->stack);

	return p ? course(l, p, points) : 0;
}

/* All series of a run have their points at the same times. */
static void classify(const struct ledger *l, const struct place *p, struct top_row *row,
		     struct growth_point all[TOP_POINTS])
{
	struct growth_point points[TOP_POINTS];
	const double now = (double)l->now_us / 1e6;
	const size_t n = course(l, p, points);

	growth_classify(points, n, now, p->allocs, p->frees, &row->growth);
	if (row->plain)
		return;
	for (size_t i = 0; i + 1 < n; i++) {
		all[i].seconds = points[i].seconds;
		all[i].bytes += points[i].bytes;
	}
}

/* The calls until now, and a second, of a row whose `calls` are set; and what came since the mark. */
static void compare_with_before(struct top *t, struct top_row *row, double seconds)
{
	struct top_seen *seen = &t->seen[row->family][row->stack];

	if (seconds > 0 && !row->estimated)
		seen->calls_per_second =
			row->calls > seen->calls ? (double)(row->calls - seen->calls) / seconds : 0;
	if (!row->estimated)
		row->calls_per_second = seen->calls_per_second;
	seen->calls = row->calls;
	row->more_calls = row->calls > seen->marked_calls ? row->calls - seen->marked_calls : 0;
	row->more_bytes = (int64_t)(row->bytes - (row->estimated ? 0 : seen->marked_bytes));
}

/* Since the mark the growth is what came since then. */
static void grow_since_mark(const struct top *t, const struct ledger *l, struct top_row *row)
{
	const double minutes = (double)(l->now_us - t->mark_us) / 60e6;

	if (!t->marked || row->estimated)
		return;
	row->growth = (struct growth){
		.shape = row->more_bytes > 0 ? GROWTH_GROWS : row->more_bytes < 0 ? GROWTH_FALLS : GROWTH_LEVEL,
		.bytes_per_minute = minutes > 0 ? (double)row->more_bytes / minutes : 0,
	};
}

static int add_row(struct top *t, const struct top_row *row)
{
	if (grow_for(&t->rows, t->n, &t->room, sizeof(*t->rows)))
		return -ENOMEM;
	t->rows[t->n++] = *row;
	return 0;
}

static int add_place(struct top *t, struct ledger *l, uint32_t family, uint32_t stack, double seconds,
		     struct growth_point all[TOP_POINTS])
{
	const struct place *p = ledger_place(l, family, stack);
	struct top_row row = { .family = family, .stack = stack, .plain = l->defs.families[family].refs };

	if (!p || !p->allocs)
		return 0;
	row.bytes = p->bytes;
	row.calls = p->allocs + p->frees;
	compare_with_before(t, &row, seconds);
	classify(l, p, &row, all);
	grow_since_mark(t, l, &row);
	return add_row(t, &row);
}

static int add_places(struct top *t, struct ledger *l, double seconds)
{
	struct growth_point all[TOP_POINTS] = { 0 };
	const double now = (double)l->now_us / 1e6;
	size_t n = 0;
	int r = 0;

	for (uint32_t f = 0; f < l->nbooks && f < LEDGER_FAMILIES_MAX && r == 0; f++) {
		r = make_room(t, f, l->books[f].nplaces);
		for (uint32_t s = 0; s < l->books[f].nplaces && r == 0; s++)
			r = add_place(t, l, f, s, seconds, all);
	}
	while (n + 1 < TOP_POINTS && all[n].seconds > 0)
		n++;
	all[n++] = (struct growth_point){ now, l->held_bytes, 0 };
	growth_classify(all, n, now, l->allocs, l->frees, &t->growth);
	return r;
}

static int add_sample(struct top *t, const struct ledger *l, const struct ledger_sample *its, double seconds)
{
	struct top_row row = { .family = its->family, .stack = its->stack, .estimated = true };
	struct summary_sample concluded = { 0 };
	struct sampled sum;
	const double run = (double)l->now_us / 1e6;
	int r;

	if (its->family >= LEDGER_FAMILIES_MAX)
		return 0;
	r = make_room(t, its->family, (size_t)its->stack + 1);
	if (r < 0)
		return r;
	sampled_one(&its->its, its->process, &sum);
	sampled_conclude(&sum, run, &concluded);
	row.bytes = sampled_kept_bytes(&concluded, run);
	row.uncertain = concluded.survival.kind == SURVIVAL_UNKNOWN;
	if (row.uncertain)
		row.bytes = (uint64_t)(concluded.may_keep_bytes.value * run / 60);
	row.calls_per_second = concluded.allocs.value / 60;
	row.calls = (uint64_t)(row.calls_per_second * run);
	sampled_growth(&concluded, run, &row.growth);
	compare_with_before(t, &row, seconds);
	return add_row(t, &row);
}

static int add_samples(struct top *t, const struct ledger *l, double seconds)
{
	int r = 0;

	for (size_t i = 0; i < l->samples.n && r == 0; i++)
		r = add_sample(t, l, &l->samples.all[i], seconds);
	return r;
}

static int apply_filter(struct top *t, const struct ledger *l)
{
	size_t kept = 0;

	t->all = t->n;
	for (size_t i = 0; t->filter && i < t->n; i++) {
		struct stack_view stack;
		int r = expand_stack(&l->defs, t->rows[i].stack, &stack);

		if (r < 0)
			return r;
		if (select_focuses(t->filter, stack.frames, stack.depth))
			t->rows[kept++] = t->rows[i];
		free(stack.frames);
	}
	t->n = t->filter ? kept : t->n;
	return 0;
}

static void count_events(struct top *t, const struct ledger *l, double seconds)
{
	const uint64_t of_blocks = ledger_is_sampled(l) ? 0 : l->allocs + l->frees,
		       counted = l->counts[MMT_COUNT_EVENTS],	/* of objects, too */
		       events = of_blocks > counted ? of_blocks : counted;

	if (seconds > 0)
		t->events_per_second = events > t->events ? (double)(events - t->events) / seconds : 0;
	t->events = events;
	t->at_us = l->now_us;
}

int top_refresh(struct top *t, struct ledger *l)
{
	const double seconds = l->now_us > t->at_us ? (double)(l->now_us - t->at_us) / 1e6 : 0;
	struct top_row chosen;
	const bool stays = chosen_row(t, &chosen);
	int r;

	t->n = 0;
	r = ledger_is_sampled(l) ? add_samples(t, l, seconds) : add_places(t, l, seconds);
	if (r == 0)
		r = apply_filter(t, l);
	count_events(t, l, seconds);
	sort_and_choose(t, stays ? &chosen : NULL);
	return r;
}

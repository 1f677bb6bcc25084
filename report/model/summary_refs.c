/* SPDX-License-Identifier: MIT */
/*
 * summary_refs: groups of objects with references: copied, and sorted.
 *
 * The main question is which call site is suspected. References of a leaked object were acquired at several
 * call sites, most of them innocent: what these acquire on other objects is released again. So the first ones
 * are the call sites of whose references, on any object of the run, the largest share is outstanding. If
 * every object passes the same call sites, many have as large a share, or nearly. Of these comes first
 *
 *	one whose numbers match those of the objects: it acquired 2 if 2 are surplus, and 3 if 3 are. If 1 is
 *	surplus, a match proves nothing, since every object may pass the call site once: only several count;
 *	one whose references are all outstanding;
 *	one whose module released the smallest part of what it acquired on these objects: a module that
 *	acquires and releases in turn comes out even, also if others forget.
 */
#include <stdlib.h>

#include "report/model/summary_parts.h"

#define CLEARLY 1.5	/* shares count as different if one is so many times as large as the other */

static struct summary_use *copy_taken(struct summary *s, const struct summary_refs *r)
{
	struct summary_use *own = summary_copy(s, r->acquired, r->nacquired, sizeof(*own));

	for (size_t i = 0; own && i < r->nacquired; i++)
		own[i].module = summary_string(s, own[i].module);
	return own;
}

static struct summary_object *copy_objects(struct summary *s, const struct summary_refs *r, size_t *n)
{
	struct summary_object *own = summary_copy(s, r->all, *n, sizeof(*own));

	*n = own ? *n : 0;
	for (size_t i = 0; i < *n; i++)
		own[i].counts = summary_copy(s, r->all[i].counts, r->nacquired + r->nreleased,
					     sizeof(*own[i].counts));
	return own;
}

void summary_add_refs(struct summary *s, const struct summary_refs *refs)
{
	struct summary_refs *r = summary_push(s, &s->refs, &s->nrefs, sizeof(*r));

	if (!r)
		return;
	*r = *refs;
	r->family = summary_string(s, refs->family);
	r->noun = summary_string(s, refs->noun ? refs->noun : "object");
	r->series = summary_copy(s, refs->series, refs->npoints, sizeof(*r->series));
	r->samples = summary_copy(s, refs->samples, refs->nsamples, sizeof(*r->samples));
	r->npoints = r->series ? refs->npoints : 0;
	r->nsamples = r->samples ? refs->nsamples : 0;
	r->acquired = copy_taken(s, refs);
	r->released = summary_copy(s, refs->released, refs->nreleased, sizeof(*r->released));
	r->nacquired = r->acquired ? refs->nacquired : 0;
	r->nreleased = r->released ? refs->nreleased : 0;
	r->all = copy_objects(s, refs, &r->nall);
}

bool summary_refs_relative(const struct summary_refs *r)
{
	return r->older && !r->counted;
}

bool summary_refs_suspect(const struct summary_refs *r)
{
	return !summary_refs_relative(r) || r->net > 0;
}

double summary_use_share(const struct summary_use *u)
{
	return u->acquired_in_all ? (double)u->outstanding / (double)u->acquired_in_all : 0;
}

double summary_use_module_share(const struct summary_use *u)
{
	if (u->module_released >= u->module_acquired)
		return 0;
	return (double)(u->module_acquired - u->module_released) / (double)u->module_acquired;
}

bool summary_use_follows(const struct summary_use *u)
{
	return 2 * u->as_many > u->several;
}

static bool is_near(const struct summary_use *u, double largest_share)
{
	return summary_use_share(u) * CLEARLY > largest_share;
}

static int compare_shares(double a, double b)
{
	return a < b ? 1 : a > b ? -1 : 0;
}

/* Compare two that have about the same share. */
static int compare_near(const struct summary_use *a, const struct summary_use *b)
{
	int order = summary_use_follows(b) - summary_use_follows(a);

	if (!order)
		order = (summary_use_share(b) >= 1) - (summary_use_share(a) >= 1);
	if (!order)
		order = compare_shares(summary_use_module_share(a), summary_use_module_share(b));
	return order;
}

static int compare_uses(const void *pa, const void *pb, void *ctx)
{
	const struct summary_use *a = pa, *b = pb;
	double largest = *(const double *)ctx;
	int order = is_near(b, largest) - is_near(a, largest);

	if (!order && is_near(a, largest))
		order = compare_near(a, b);
	if (!order)
		order = compare_shares(summary_use_share(a), summary_use_share(b));
	if (!order)
		order = summary_compare_numbers(a->count, b->count);
	if (!order)
		order = stack_compare(&a->stack, &b->stack);
	return order ? order : (int)a->stack.end - (int)b->stack.end;
}

static double largest_share(const struct summary_use *uses, size_t n)
{
	double largest = 0;

	for (size_t i = 0; i < n; i++)
		largest = summary_use_share(&uses[i]) > largest ? summary_use_share(&uses[i]) : largest;
	return largest;
}

void summary_sort_uses(struct summary_use *uses, size_t n)
{
	double largest = largest_share(uses, n);

	if (n)
		qsort_r(uses, n, sizeof(*uses), compare_uses, &largest);
}

size_t summary_near_uses(const struct summary_use *uses, size_t n)
{
	double largest = largest_share(uses, n);
	size_t near = 0;

	while (near < n && is_near(&uses[near], largest))
		near++;
	return near;
}

size_t summary_like_uses(const struct summary_use *uses, size_t n)
{
	size_t like = 0, near = summary_near_uses(uses, n);

	for (; like < near; like++) {
		const struct summary_use *u = &uses[like];

		if (summary_use_follows(u) != summary_use_follows(uses))
			break;
		if (summary_use_module_share(u) * CLEARLY <= summary_use_module_share(uses) &&
		    summary_use_module_share(uses) > 0)
			break;
	}
	return like;
}

size_t summary_suspects(const struct summary_refs *r)
{
	size_t n = r->net > 0 ? summary_like_uses(r->acquired, r->nacquired) : 0;

	return n < r->nacquired ? n : 0;
}

int summary_refs_rank(const struct summary_refs *r)
{
	if (!r->older)
		return r->net > 0 ? 0 : 1;
	if (r->counted)
		return 2;
	return r->net > 0 ? 3 : 4;
}

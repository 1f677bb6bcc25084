/* SPDX-License-Identifier: MIT */
/*
 * summary_refs: groups of objects with references: copied, and put in their order.
 *
 * The heart of it is which place is suspected. An object that leaks was taken at several places, most of them
 * innocent: what they take on other objects is dropped again. So the first is the place of whose references, on any
 * object of the run, the largest share was not dropped.
 */
#include <stdlib.h>

#include "report/summary_parts.h"

void summary_refs_fini(struct summary_refs *r)
{
	for (size_t i = 0; i < r->nall; i++)
		free(r->all[i].counts);
	free(r->series);
	free(r->samples);
	free(r->taken);
	free(r->dropped);
	free(r->all);
}

static struct summary_object *copy_objects(struct summary *s, const struct summary_refs *r, size_t *n)
{
	struct summary_object *own = summary_copy(s, r->all, *n, sizeof(*own));

	*n = own ? *n : 0;
	for (size_t i = 0; i < *n; i++)
		own[i].counts = summary_copy(s, r->all[i].counts, r->ntaken + r->ndropped, sizeof(*own[i].counts));
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
	r->taken = summary_copy(s, refs->taken, refs->ntaken, sizeof(*r->taken));
	r->dropped = summary_copy(s, refs->dropped, refs->ndropped, sizeof(*r->dropped));
	r->ntaken = r->taken ? refs->ntaken : 0;
	r->ndropped = r->dropped ? refs->ndropped : 0;
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
	return u->taken_in_all ? (double)u->kept / (double)u->taken_in_all : 0;
}

static int compare_uses(const void *pa, const void *pb)
{
	const struct summary_use *a = pa, *b = pb;
	double share_a = summary_use_share(a), share_b = summary_use_share(b);
	int order = share_a < share_b ? 1 : share_a > share_b ? -1 : 0;

	if (!order)
		order = summary_compare_numbers(a->count, b->count);
	if (!order)
		order = summary_compare_stacks(a->frames, a->depth, b->frames, b->depth);
	return order ? order : (int)a->end - (int)b->end;
}

void summary_sort_uses(struct summary_use *uses, size_t n)
{
	if (n)
		qsort(uses, n, sizeof(*uses), compare_uses);
}

int summary_refs_rank(const struct summary_refs *r)
{
	if (!r->older)
		return r->net > 0 ? 0 : 1;
	if (r->counted)
		return 2;
	return r->net > 0 ? 3 : 4;
}

static int compare_lists(const struct summary_use *a, size_t na, const struct summary_use *b, size_t nb)
{
	int order = 0;

	for (size_t i = 0; !order && i < na && i < nb; i++)
		order = summary_compare_stacks(a[i].frames, a[i].depth, b[i].frames, b[i].depth);
	for (size_t i = 0; !order && i < na && i < nb; i++)
		order = (int)a[i].end - (int)b[i].end;
	return order ? order : summary_compare_numbers(nb, na);
}

static int compare_refs(const void *pa, const void *pb, void *ctx)
{
	const struct summary_refs *a = pa, *b = pb;
	int order = summary_compare_families(ctx, a->family, b->family);

	if (!order)
		order = summary_refs_rank(a) - summary_refs_rank(b);
	if (!order)
		order = summary_compare_numbers(a->objects, b->objects);
	if (!order)
		order = a->net < b->net ? 1 : a->net > b->net ? -1 : 0;
	if (!order)
		order = compare_lists(a->taken, a->ntaken, b->taken, b->ntaken);
	if (!order)
		order = compare_lists(a->dropped, a->ndropped, b->dropped, b->ndropped);
	if (!order)
		order = summary_compare_texts(a->family, b->family);
	return order ? order : (int)a->counted - (int)b->counted;
}

void summary_sort_refs(struct summary *s)
{
	if (s->nrefs)
		qsort_r(s->refs, s->nrefs, sizeof(*s->refs), compare_refs, s);
}

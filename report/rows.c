/* SPDX-License-Identifier: MIT */
/* rows: see rows.h. */
#include "report/rows.h"

#include <errno.h>
#include <stdlib.h>

#define ROWS_MAX 10
#define KEPT_SHARE 3		/* the part that does not grow has a third of the rows for itself */

/* What is lost first; fastest first; then those of which nothing is known; of equal ones the one that was given first. */
static int compare_growth(const void *pa, const void *pb, void *ctx)
{
	const struct rows_item *items = ctx;
	size_t ia = *(const size_t *)pa, ib = *(const size_t *)pb;
	const struct rows_item *a = &items[ia], *b = &items[ib];

	if (a->lost != b->lost)
		return a->lost ? -1 : 1;
	if (a->known != b->known)
		return a->known ? -1 : 1;
	if (a->known && a->rate > b->rate)
		return -1;
	if (a->known && a->rate < b->rate)
		return 1;
	return ia < ib ? -1 : ia > ib;
}

static void divide(struct rows *r, const struct rows_item *items)
{
	for (size_t i = 0; i < r->n; i++) {
		if (!items[i].growing)
			continue;
		r->order[r->ngrowing++] = i;
		r->nunknown += !items[i].known;
	}
	for (size_t i = 0; i < r->n; i++)
		if (!items[i].growing)
			r->order[r->ngrowing + r->nkept++] = i;
	if (r->ngrowing)
		qsort_r(r->order, r->ngrowing, sizeof(*r->order), compare_growth, (void *)items);
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void choose(struct rows *r, size_t top)
{
	size_t most = top ? smaller(top, ROWS_MAX) : ROWS_MAX;

	r->growing_rows = smaller(r->ngrowing, most - smaller(r->nkept, most / KEPT_SHARE));
	r->kept_rows = smaller(r->nkept, most - r->growing_rows);
	for (size_t i = 0; i < r->growing_rows; i++)
		r->shown[r->order[i]] = true;
	for (size_t i = 0; i < r->kept_rows; i++)
		r->shown[r->order[r->ngrowing + i]] = true;
	r->nshown = r->growing_rows + r->kept_rows;
	for (size_t i = 0; i < r->n && (!top || r->nshown < top); i++) {
		r->nshown += !r->shown[i];
		r->shown[i] = true;
	}
}

int rows_make(const struct rows_item *items, size_t n, size_t top, struct rows *out)
{
	*out = (struct rows){ .n = n, .order = calloc(n + 1, sizeof(size_t)), .shown = calloc(n + 1, sizeof(bool)) };
	if (!out->order || !out->shown)
		return -ENOMEM;
	divide(out, items);
	choose(out, top);
	return 0;
}

void rows_fini(struct rows *r)
{
	free(r->order);
	free(r->shown);
	*r = (struct rows){ 0 };
}

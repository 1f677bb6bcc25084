/* SPDX-License-Identifier: MIT */
/* row_choice: see row_choice.h. */
#include "report/model/row_choice.h"

#include <errno.h>
#include <stdlib.h>

#define ROWS_MAX 10
/*
 * A third of the rows is reserved for growing groups, and a third for groups that do not grow, if there are
 * so many.
 */
#define SHARE 3

/* Fastest first, then those of unknown rate; equal ones in the order given. */
static int compare_growth(const void *pa, const void *pb, void *ctx)
{
	const struct row_item *items = ctx;
	size_t ia = *(const size_t *)pa, ib = *(const size_t *)pb;
	const struct row_item *a = &items[ia], *b = &items[ib];

	if (a->known != b->known)
		return a->known ? -1 : 1;
	if (a->known && a->rate > b->rate)
		return -1;
	if (a->known && a->rate < b->rate)
		return 1;
	return ia < ib ? -1 : ia > ib;
}

static void divide(struct row_choice *r, const struct row_item *items)
{
	size_t at = 0;

	for (enum row_part part = 0; part < ROWS_PARTS; part++) {
		size_t first = at;

		for (size_t i = 0; i < r->n; i++)
			if (items[i].part == part)
				r->order[at++] = i;
		r->counts[part] = at - first;
		if (part != ROWS_GROWING || at == first)
			continue;
		qsort_r(r->order + first, at - first, sizeof(*r->order), compare_growth, (void *)items);
		for (size_t i = first; i < at; i++)
			r->nunknown += !items[r->order[i]].known;
	}
}

const size_t *row_choice_of(const struct row_choice *r, enum row_part part)
{
	const size_t *at = r->order;

	for (enum row_part i = 0; i < part; i++)
		at += r->counts[i];
	return at;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void choose(struct row_choice *r, size_t top)
{
	size_t most = top ? smaller(top, ROWS_MAX) : r->n;
	size_t kept = smaller(r->counts[ROWS_LIVE], most / SHARE),
	       growing = smaller(r->counts[ROWS_GROWING], most / SHARE);

	r->in_table[ROWS_LOST] = smaller(r->counts[ROWS_LOST], most - kept - growing);
	r->in_table[ROWS_GROWING] = smaller(r->counts[ROWS_GROWING], most - kept - r->in_table[ROWS_LOST]);
	r->in_table[ROWS_LIVE] =
		smaller(r->counts[ROWS_LIVE], most - r->in_table[ROWS_LOST] - r->in_table[ROWS_GROWING]);
	for (enum row_part part = 0; part < ROWS_PARTS; part++)
		for (size_t i = 0; i < r->in_table[part]; i++, r->nshown++)
			r->shown[row_choice_of(r, part)[i]] = true;
	for (size_t i = 0; i < r->n && (!top || r->nshown < top); i++) {
		r->nshown += !r->shown[i];
		r->shown[i] = true;
	}
}

int row_choice_make(const struct row_item *items, size_t n, size_t top, struct row_choice *out)
{
	*out = (struct row_choice){ .n = n, .order = calloc(n + 1, sizeof(size_t)),
				    .shown = calloc(n + 1, sizeof(bool)) };
	if (!out->order || !out->shown)
		return -ENOMEM;
	divide(out, items);
	choose(out, top);
	return 0;
}

void row_choice_fini(struct row_choice *r)
{
	free(r->order);
	free(r->shown);
	*r = (struct row_choice){ 0 };
}

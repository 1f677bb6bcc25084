/* SPDX-License-Identifier: MIT */
/*
 * rows: which of many groups a table shows, and which are shown at all.
 *
 * A table has at most ten rows in two parts: what grows, what is lost before what is not, of these the fastest first; and what is
 * kept without growing, in the order in which it was given. Neither part crowds the other out. The groups of the table are among those shown;
 * then come the first of the others.
 */
#ifndef MM_ROWS_H
#define MM_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

struct rows_item {
	bool lost;			/* nobody can give it back any more */
	bool growing;			/* or perhaps growing */
	bool known;			/* how it grows */
	double rate;
};

struct rows {
	size_t *order;			/* all that grow, then all others, each in the order of its part */
	size_t ngrowing, nkept;		/* of each part */
	size_t nunknown;		/* of those that grow: perhaps only */
	size_t growing_rows, kept_rows;	/* of these in the table */
	bool *shown;			/* by index of the item */
	size_t n, nshown;
};

/* Show @top of the @n items (0: all). 0 or -ENOMEM; rows_fini in any case. */
must_check int rows_make(const struct rows_item *items, size_t n, size_t top, struct rows *out);
void rows_fini(struct rows *r);

#endif

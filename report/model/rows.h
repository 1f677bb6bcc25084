/* SPDX-License-Identifier: MIT */
/*
 * rows: which of many groups a table shows, and which are shown at all.
 *
 * A table has at most ten rows in three parts: lost groups, in the order given; growing groups, the fastest
 * first; and live groups that do not grow, in the order given. No part crowds out the others. A group that is
 * reported with another one has no row. The groups of the table are among those shown; then come the first of
 * the others.
 */
#ifndef MM_ROWS_H
#define MM_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

enum rows_part { ROWS_LOST, ROWS_GROWING, ROWS_KEPT, ROWS_PARTS, ROWS_NONE = ROWS_PARTS };

struct rows_item {
	enum rows_part part;
	bool known;			/* ROWS_GROWING: the rate is known; else it may grow */
	double rate;
};

struct rows {
	size_t *order;			/* those of the first part, then those of the next... */
	size_t counts[ROWS_PARTS];	/* of each part */
	size_t in_table[ROWS_PARTS];	/* how many of these, from the first, are in the table */
	size_t nunknown;		/* of those that grow: how many only may grow */
	bool *shown;			/* by index of the item */
	size_t n, nshown;
};

/* Show @top of the @n items (0: all). 0 or -ENOMEM; rows_fini in any case. */
must_check int rows_make(const struct rows_item *items, size_t n, size_t top, struct rows *out);
void rows_fini(struct rows *r);

/* The first of a part in `order`. */
const size_t *rows_of(const struct rows *r, enum rows_part part);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * row_choice: which of many groups have a row in the table, and which are shown with their stacks.
 *
 * A table has at most ten rows, or, if all groups are asked for, one for each, in three parts: lost groups,
 * in the order given; growing groups, the fastest first; and live groups that do not grow, in the order given.
 * No part crowds out the others. A group that is reported with another one has no row. Groups with a row are
 * always shown with their stacks, too; then come the first of the others, up to the number that was asked
 * for.
 */
#ifndef MM_ROW_CHOICE_H
#define MM_ROW_CHOICE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

enum row_part { ROWS_LOST, ROWS_GROWING, ROWS_LIVE, ROWS_PARTS, ROWS_NONE = ROWS_PARTS };

struct row_item {
	enum row_part part;
	bool known;			/* ROWS_GROWING: the rate is known; else it may grow */
	double rate;
};

struct row_choice {
	size_t *order;			/* those of the first part, then those of the next... */
	size_t counts[ROWS_PARTS];	/* of each part */
	size_t in_table[ROWS_PARTS];	/* how many of these, from the first, are in the table */
	size_t nunknown;		/* of the growing part: how many may grow, but are not known to */
	bool *shown;			/* by index of the item */
	size_t n, nshown;
};

/* Show @top of the @n items (0: all). 0 or -ENOMEM; row_choice_fini in any case. */
must_check int row_choice_make(const struct row_item *items, size_t n, size_t top, struct row_choice *out);
void row_choice_fini(struct row_choice *r);

/* The first of a part in `order`. */
const size_t *row_choice_of(const struct row_choice *r, enum row_part part);

#endif

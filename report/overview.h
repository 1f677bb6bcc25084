/* SPDX-License-Identifier: MIT */
/*
 * overview: the table at the top of the text report, and which groups are shown at all.
 *
 * A table of at most ten rows in two parts: what grows, fastest first, and what is kept without growing, largest first. Neither
 * part crowds the other out. The groups of the table are among those shown; then come the largest of the others.
 */
#ifndef MM_OVERVIEW_H
#define MM_OVERVIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "report/summary.h"

struct overview {
	const struct summary *summary;
	size_t *rows;			/* indices of groups: all that grow, then all others, each in the order of its part */
	size_t ngrowing, nkept;		/* of each part */
	size_t growing_rows, kept_rows;	/* of these in the table */
	bool *shown;			/* by index of the group: its detail is printed */
	size_t nshown;
};

/* Of the sorted summary @s, which must outlive it, show @top groups (0: all). 0 or -ENOMEM. */
must_check int overview_make(const struct summary *s, size_t top, struct overview *o);
void overview_fini(struct overview *o);

/* Append the table to @sb; nothing if there are no groups. */
void overview_put(const struct overview *o, struct strbuf *sb);

/* The line below the groups on those that are not shown, if there are any. */
void overview_rest(const struct overview *o, struct strbuf *sb);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * overview: the table of a family's groups of blocks at the top of the text report, and the choice of the
 * groups that are shown at all (report/model/row_choice.h).
 */
#ifndef MM_OVERVIEW_H
#define MM_OVERVIEW_H

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "report/model/row_choice.h"
#include "report/model/summary.h"
#include "report/model/text_parts.h"
#include "report/text/groups/columns.h"

struct overview {
	const struct summary *summary;
	struct text_part part;
	struct columns columns;
	bool sampled;			/* rows show estimates (report/text/groups/text_sampled.h) */
	struct row_choice rows;		/* indices are those of the part */
};

/*
 * Show @top groups (0: all) of a part of the rows @s (report/names/rows.h), which must outlive @o. 0 or -ENOMEM;
 * overview_fini in any case.
 */
must_check int overview_make(const struct summary *s, const struct text_part *part, size_t top,
			     struct overview *o);
void overview_fini(struct overview *o);

/* Append the table to @sb; nothing if there are no groups. */
void overview_put(const struct overview *o, struct strbuf *sb);

/* The line below the groups on those that are not shown, if there are any. */
void overview_rest(const struct overview *o, struct strbuf *sb);

#endif

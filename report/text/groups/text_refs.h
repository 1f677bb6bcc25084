/* SPDX-License-Identifier: MIT */
/*
 * text_refs: a family of objects with references in the text report: its table at the top, and its numbered
 * groups (report/model/refs_merge.h):
 *
 *	[1] 529 dict objects with 1 reference too many (net 1): acquired 3 times, released twice; 1s to 9m old
 *	    grows by 53/min                         | ..::--==++**##%%@@|
 *	  MOST SUSPECT: acquired once each; all 529 acquired here are on objects that are still live
 *	    #0 leaky_lookup (leaky.so+0x11a0) leaky.c:88
 *	  acquired once each; 529 of 5292 acquired here (10%) are on objects that are still live
 *	    #0 ...
 *	  released once each
 *	    #0 ...
 */
#ifndef MM_TEXT_REFS_H
#define MM_TEXT_REFS_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "report/model/refs_merge.h"
#include "report/model/row_choice.h"
#include "report/model/summary.h"
#include "report/model/text_parts.h"
#include "report/text/groups/columns.h"

struct text_refs {
	const struct summary *summary;
	struct text_part part;
	struct merged_refs *entries;
	size_t n;
	struct row_choice rows;
	struct columns columns;
	bool all;		/* also call sites beyond the first few */
};

/*
 * Show @top numbered groups (0: all) of a part of the sorted summary @s, which must outlive @t. 0 or -ENOMEM;
 * text_refs_fini in any case.
 */
must_check int text_refs_make(const struct summary *s, const struct text_part *part, size_t top,
			      struct text_refs *t);
void text_refs_fini(struct text_refs *t);

/* Append the table to @sb; nothing if there are no objects. */
void text_refs_table(const struct text_refs *t, struct strbuf *sb);

/* The groups that are shown, and the number of those that are not. */
void text_refs_details(const struct text_refs *t, struct strbuf *sb);

/* One of them (text_refs_entry.c). */
void text_refs_entry(const struct text_refs *t, size_t index, struct strbuf *sb);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * rows: what [n] is. A report is read in several formats, and its readers then speak of "[3]": so the rows of a
 * report, what each is called and what belongs to it, are made here, once, and every format prints them, or
 * carries them for what prints them (report/html).
 *
 *	a row of blocks		a stack with its parts by verdict, as report/model/by_stack.h makes it of the
 *				groups of the summary: a group is one stack with one verdict, and has its row's
 *				number
 *	a row of objects	what report/model/refs_merge.h makes of groups of objects
 *	of a scan		each group is a row
 *
 * There were two ways. Programs could have got the rows instead of the groups: then nothing of JSON and CSV
 * would add up by verdict any more, and what reads them would have to change. Or the groups stay, and the rows
 * are carried beside them: each group names its row, each row its groups. This is the second one. In it nothing
 * but this file knows how groups become rows, so no format does it in its own way.
 *
 * A row of blocks is a group of the view: its `number`, and `apart`, which makes its name differ from
 * those of other rows, if one place in the stack can, and not only from those that are shown: what [3] is called
 * does not depend on --top.
 */
#ifndef MM_ROWS_H
#define MM_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "report/model/by_stack.h"
#include "report/model/refs_merge.h"
#include "report/model/summary.h"
#include "report/model/text_parts.h"

struct rows {
	struct by_stack by_stack;	/* rows of blocks: by_stack.view.groups, in the order of the report */
	struct merged_refs *refs;	/* rows of objects, likewise */
	size_t nrefs;
	size_t *of_group, *of_refs;	/* by index in summary.groups, summary.refs: index of the row */
	size_t *count;			/* by index of the part (report/model/text_parts.h): its rows */
};

/* Of the sorted summary @s, which must outlive @out. 0 or -ENOMEM; rows_fini in any case. */
must_check int rows_make(const struct summary *s, struct rows *out);
void rows_fini(struct rows *r);

/* The n of the row of the group with that index in summary.groups, or summary.refs. */
size_t rows_number_of(const struct rows *r, size_t group);
size_t rows_number_of_refs(const struct rows *r, size_t refs);

/* What of a row can be read off it; @view: by_stack.view. */

/* Its live blocks, with what is lost with them: of a scan, without. */
struct summary_sum row_sum(const struct summary *view, const struct summary_group *row);
/* The part of all that its family has live: 0 to 1, or more if what is lost with it is of other families. */
double row_share(const struct summary *view, const struct summary_group *row);
/* In which part of a table. In a sampled run what leaks, or may leak, grows, and the rest is kept. */
enum summary_section row_section(const struct summary *view, const struct summary_group *row);
/*
 * How it grows, as a table has it (report/words/words.h); "see [3]" of a lost row whose younger blocks are in
 * another one, which grows (summary_grows_instead). Nothing if the run has no times.
 */
void row_growth(struct strbuf *sb, const struct summary *view, const struct summary_group *row, bool brief);
void row_refs_growth(struct strbuf *sb, const struct summary *view, const struct merged_refs *row);
/* "session_open svc.c:42" (report/names/sitename.h); of a scan "shop::cart", "24 bytes". */
void row_name(struct strbuf *sb, const struct summary_group *row);
void row_refs_name(struct strbuf *sb, const struct merged_refs *row);
/* The net count of each of its objects: "1", "1..43"; "+1" if it is that more than before. */
void row_refs_net(struct strbuf *sb, const struct merged_refs *row);
/* "[3]", or "[fd 3]" if there are several families. */
void row_mark(struct strbuf *sb, const struct summary *view, const char *family, size_t number);

#endif

/* SPDX-License-Identifier: MIT */
/* out_text: see out_text.h. The order of the parts: each follows a blank line, and has a file of its own. */
#include "report/text/out_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "report/model/format_text.h"
#include "report/model/text_parts.h"
#include "report/names/rows.h"
#include "report/text/empty_report.h"
#include "report/text/groups/text_group.h"
#include "report/text/groups/text_mark.h"
#include "report/text/groups/text_objects.h"
#include "report/text/groups/text_refs.h"
#include "report/text/groups/wrap.h"
#include "report/text/overview.h"
#include "report/text/text_answer.h"
#include "report/text/text_double_frees.h"
#include "report/text/text_filter.h"
#include "report/text/text_head.h"
#include "report/text/text_processes.h"

static int put_groups(struct strbuf *sb, const struct overview *o)
{
	struct text_groups groups;
	int r = text_groups_make(o->summary, &o->part, &groups);

	for (size_t i = 0; i < o->part.n && r == 0; i++)
		if (o->rows.shown[i]) {
			strbuf_putc(sb, '\n');
			text_group(sb, &groups, i);
		}
	text_groups_fini(&groups);
	overview_rest(o, sb);
	return r;
}

static void put_suppressions(struct strbuf *sb, const struct summary *s)
{
	cleanup_strbuf struct strbuf cell = STRBUF_INIT;

	if (s->nsuppressions)
		strbuf_puts(sb, "\n" TEXT_BOLD "suppressions used" TEXT_PLAIN "\n"
				"     groups     blocks      bytes\n");
	for (size_t i = 0; i < s->nsuppressions; i++) {
		const struct summary_suppression *used = &s->suppressions[i];
		strbuf_printf(sb, "  %9" PRIu64 "  %9" PRIu64 "  ", used->groups, used->blocks);
		format_size(&cell, used->bytes);
		format_right(sb, &cell, 9);
		strbuf_puts(sb, "  ");
		strbuf_text(sb, used->name);
		strbuf_puts(sb, " (");
		strbuf_text(sb, used->where);
		strbuf_puts(sb, ")\n");
	}
}

/* What is shown of each family: its groups of blocks, or of objects. */
struct shown {
	struct overview blocks;
	struct text_refs refs;
	bool is_refs;
};

static int make_shown(const struct summary *s, size_t top, struct shown *all)
{
	struct text_part part;
	int r = 0;

	for (size_t i = 0; i < text_parts(s) && r == 0; i++) {
		text_part(s, i, &part);
		all[i].is_refs = part.family.refs;
		if (all[i].is_refs)
			r = text_refs_make(s, &part, top, &all[i].refs);
		else
			r = overview_make(s, &part, top, &all[i].blocks);
	}
	return r;
}

static void free_shown(const struct summary *s, struct shown *all)
{
	for (size_t i = 0; all && i < text_parts(s); i++) {
		overview_fini(&all[i].blocks);
		text_refs_fini(&all[i].refs);
	}
	free(all);
}

static void put_tables(struct strbuf *sb, const struct summary *s, const struct shown *all)
{
	for (size_t i = 0; i < text_parts(s); i++) {
		if (all[i].is_refs)
			text_refs_table(&all[i].refs, sb);
		else
			overview_put(&all[i].blocks, sb);
	}
	if (!s->ngroups && !s->nrefs) {
		strbuf_putc(sb, '\n');
		empty_report_put(sb, s);
	}
}

/* What a report is not that is made while the watch goes on. */
static void put_interim(struct strbuf *sb, const struct summary *s)
{
	cleanup_strbuf struct strbuf line = STRBUF_INIT;

	if (!s->interim)
		return;
	strbuf_text(&line, s->interim);
	wrap(sb, &line, s->columns ? s->columns : WRAP_WIDTH, 0);
}

static void put_first(struct strbuf *sb, const struct summary *s)
{
	text_answer(sb, s);
	put_interim(sb, s);
	text_filter(sb, s);
}

static int put_details(struct strbuf *sb, const struct summary *s, const struct shown *all)
{
	int r = 0;

	for (size_t i = 0; i < text_parts(s) && r == 0; i++) {
		if (all[i].is_refs)
			text_refs_details(&all[i].refs, sb);
		else
			r = put_groups(sb, &all[i].blocks);
	}
	return r;
}

static int put_all(struct strbuf *sb, const struct summary *s, size_t top, const struct shown *all)
{
	int r;

	put_first(sb, s);
	if (s->by_process) {
		text_processes_table(sb, s, top);
		strbuf_putc(sb, '\n');
		text_head(sb, s);
		return 0;
	}
	put_tables(sb, s, all);
	text_double_frees(sb, s, top);
	r = put_details(sb, s, all);
	put_suppressions(sb, s);
	if (s->per_object)
		text_objects(sb, s);
	strbuf_putc(sb, '\n');
	text_head(sb, s);
	return r;
}

static int put(struct strbuf *sb, const struct summary *s, size_t top)
{
	struct shown *all = calloc(text_parts(s), sizeof(*all));
	int r = all ? make_shown(s, top, all) : -ENOMEM;

	if (r == 0)
		r = put_all(sb, s, top, all);
	free_shown(s, all);
	return r;
}

int out_text(const struct summary *s, size_t top, struct strbuf *sb)
{
	const size_t from = sb->len;
	struct rows rows;
	int r = summary_error(s);

	if (r < 0)
		return r;
	r = rows_make(s, &rows);
	if (r == 0)
		r = put(sb, &rows.by_stack.view, top);
	rows_fini(&rows);
	text_mark_show(sb, from, s);
	return r < 0 ? r : strbuf_error(sb);
}

int out_text_answer(const struct summary *s, struct strbuf *sb, double *rate)
{
	const size_t from = sb->len;
	struct rows rows;
	int r = summary_error(s);

	if (r < 0)
		return r;
	r = rows_make(s, &rows);
	if (r == 0) {
		rows.by_stack.view.columns = TEXT_UNBROKEN;
		put_first(sb, &rows.by_stack.view);
		if (rate)
			*rate = text_answer_rate(&rows.by_stack.view);
		if (!s->ngroups && !s->nrefs)
			empty_report_put(sb, &rows.by_stack.view);
	}
	rows_fini(&rows);
	text_mark_remove(sb, from);
	return r < 0 ? r : strbuf_error(sb);
}

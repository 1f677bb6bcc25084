/* SPDX-License-Identifier: MIT */
/* overview: see overview.h. */
#include "report/text/overview.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/fields/fields.h"
#include "report/model/format_text.h"
#include "report/words/words.h"
#include "report/names/rows.h"
#include "report/names/sitename.h"
#include "report/text/groups/text_growth.h"
#include "report/text/groups/text_mark.h"
#include "report/text/groups/text_rows.h"
#include "report/text/groups/text_sampled.h"
#include "report/text/groups/wrap.h"

#define WHERE_LEAST 12u	/* with less no function can be recognised */
#define WHERE_SHORT 24u	/* with less the column of shares is left out */

static const struct summary_group *group_at(const struct overview *o, size_t index)
{
	return &o->summary->groups[o->part.first + index];
}

static struct row_item item(const struct overview *o, size_t index)
{
	static const enum row_part parts[] = {
		[SUMMARY_LOST] = ROWS_LOST,
		[SUMMARY_GROWING] = ROWS_GROWING,
		[SUMMARY_KEPT] = ROWS_LIVE,
		[SUMMARY_HELD] = ROWS_NONE,
	};
	const struct summary_group *g = group_at(o, index);
	const struct summary_sample *its = words_sample_of(g);

	return (struct row_item){
		.part = parts[row_section(o->summary, g)],
		.known = o->sampled ? its->survival.kind == SURVIVAL_STAYS
		 : g->growth.shape != GROWTH_UNKNOWN && !summary_may_leak(o->summary, &g->growth),
		.rate = o->sampled ? its->may_keep_bytes.value : g->growth.bytes_per_minute,
	};
}

/* A family none of whose groups has a verdict has no column for it. */
static bool has_verdicts(const struct overview *o)
{
	for (size_t i = 0; o->summary->run.verdicts.known && i < o->part.n; i++)
		if (group_at(o, i)->verdict != VERDICT_UNKNOWN)
			return true;
	return false;
}

/* On a narrow terminal the column of growth is only as wide as its widest cell. */
static size_t growth_width(const struct overview *o)
{
	const struct row_choice *r = &o->rows;
	size_t widest = strlen("growth");

	if (!o->summary->columns)
		return WORDS_GROWTH_WIDTH;
	for (enum row_part part = 0; part < ROWS_PARTS; part++)
		for (size_t i = 0; i < r->in_table[part]; i++) {
			cleanup_strbuf struct strbuf cell = STRBUF_INIT;

			row_growth(&cell, o->summary, group_at(o, row_choice_of(r, part)[i]), true);
			widest = format_width(&cell) > widest ? format_width(&cell) : widest;
		}
	return widest + 1;
}

static size_t where_width(const struct overview *o)
{
	const size_t line = (o->summary->columns ? o->summary->columns : WRAP_ROW_WIDTH) - 2;
	const size_t others = text_number_width(&o->part) + columns_width(&o->columns);

	return line > others + WHERE_LEAST ? line - others : WHERE_LEAST;
}

/* Things without sizes have no column of bytes. */
static void add_amounts(struct overview *o, bool shares)
{
	struct columns *t = &o->columns;

	if (!o->part.plain)
		columns_add(t, &fields_row, "bytes");
	if (!o->part.plain && shares)
		columns_add(t, &fields_row, "share");
	if (o->part.plain)
		columns_add(t, &fields_row, "blocks")->head = "live";
	else
		columns_add(t, &fields_row, "blocks")->head = o->part.family.ranges ? "ranges" : "blocks";
	if (o->part.plain && shares)
		columns_add(t, &fields_row, "share");
}

static void make_columns(struct overview *o, bool shares)
{
	o->columns.n = 0;
	if (summary_is_sampled(&o->summary->run)) {
		columns_add(&o->columns, &fields_row, "leaks");
		columns_add(&o->columns, &fields_row, "calls_column");
		return;
	}
	add_amounts(o, shares);
	if (has_verdicts(o))
		columns_add(&o->columns, &fields_row, "verdict");
	if (text_timed(o->summary))
		columns_add(&o->columns, &fields_row, "growth_column")->width = -(int)growth_width(o) - 1;
}

int overview_make(const struct summary *s, const struct text_part *part, size_t top, struct overview *o)
{
	cleanup_free struct row_item *items = calloc(part->n + 1, sizeof(*items));
	int r;

	*o = (struct overview){ .summary = s, .part = *part, .sampled = summary_is_sampled(&s->run) };
	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < part->n; i++)
		items[i] = item(o, i);
	r = row_choice_make(items, part->n, top, &o->rows);
	if (r)
		return r;
	make_columns(o, true);
	if (where_width(o) < WHERE_SHORT)
		make_columns(o, false);
	return 0;
}

void overview_fini(struct overview *o)
{
	row_choice_fini(&o->rows);
}

static void put_row(const void *ctx, size_t index, struct strbuf *sb)
{
	const struct overview *o = ctx;
	const struct summary_group *g = group_at(o, index);
	const struct field_source source = { .s = o->summary, .view = o->summary };
	cleanup_strbuf struct strbuf cell = STRBUF_INIT;

	text_number(&cell, &o->part, index);
	strbuf_puts(sb, "  " TEXT_BOLD);
	format_left(sb, &cell, text_number_width(&o->part));
	strbuf_puts(sb, TEXT_PLAIN);
	columns_cells(&o->columns, &source, g, sb);
	strbuf_puts(sb, TEXT_BOLD);
	sitename(sb, g, &g->apart, where_width(o));
	strbuf_puts(sb, TEXT_PLAIN "\n");
}

static void put_more_sampled(const struct overview *o, const size_t *indices, size_t n, struct strbuf *sb)
{
	double per_minute = 0;

	for (size_t i = 0; i < n; i++)
		per_minute += text_sampled_rate(group_at(o, indices[i]));
	text_sampled_more(sb, per_minute);
}

static void put_more(const void *ctx, const size_t *indices, size_t n, struct strbuf *sb)
{
	const struct overview *o = ctx;
	uint64_t bytes = 0, blocks = 0;

	if (o->sampled) {
		put_more_sampled(o, indices, n, sb);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		const struct summary_sum sum = row_sum(o->summary, group_at(o, indices[i]));

		bytes += sum.bytes;
		blocks += sum.blocks;
	}
	if (!o->part.plain) {
		format_size(sb, bytes);
		strbuf_puts(sb, " in ");
	}
	text_things(sb, &o->part, blocks);
}

static void put_heads(const struct overview *o, struct strbuf *sb)
{
	strbuf_pad(sb, ' ', 2 + text_number_width(&o->part));
	columns_heads(&o->columns, sb);
	strbuf_puts(sb, "allocated by\n");
}

static const struct text_titles sampled_titles = {
	"leaks", "leaks, or may leak", "may leak", "mostly freed, or bounded",
};

void overview_put(const struct overview *o, struct strbuf *sb)
{
	const struct text_rows rows = { put_row, put_more, o, o->sampled ? &sampled_titles : NULL };

	if (!o->part.n)
		return;
	strbuf_putc(sb, '\n');
	put_heads(o, sb);
	text_rows_put(&rows, &o->rows, text_timed(o->summary), sb);
}

void overview_rest(const struct overview *o, struct strbuf *sb)
{
	uint64_t bytes = 0, blocks = 0;

	if (o->rows.nshown == o->part.n)
		return;
	for (size_t i = 0; i < o->part.n; i++) {
		bytes += o->rows.shown[i] ? 0 : group_at(o, i)->bytes;
		blocks += o->rows.shown[i] ? 0 : group_at(o, i)->blocks;
	}
	strbuf_putc(sb, '\n');
	format_count(sb, o->part.n - o->rows.nshown, "more group");
	if (o->sampled) {
		strbuf_puts(sb, " not shown (--top 0 shows all)\n");
		return;
	}
	strbuf_puts(sb, " with ");
	if (o->part.plain)
		text_things(sb, &o->part, blocks);
	else
		format_size(sb, bytes);
	strbuf_puts(sb, " not shown (--top 0 shows all)\n");
}

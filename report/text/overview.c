/* SPDX-License-Identifier: MIT */
/* overview: see overview.h. */
#include "report/text/overview.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/format_text.h"
#include "report/text/groups/text_growth.h"
#include "report/text/groups/text_mark.h"
#include "report/text/groups/text_rows.h"
#include "report/text/groups/text_sampled.h"
#include "report/text/groups/text_stack.h"
#include "report/text/groups/wrap.h"

/* Widths of the columns; the last one gets the rest of a line of 100 characters, or of the terminal's. */
#define COLUMN_BYTES 9
#define COLUMN_SHARE 7
#define COLUMN_BLOCKS 9
#define COLUMN_VERDICT 10
#define WHERE_LEAST 12u	/* with less no function can be recognised */
#define WHERE_SHORT 24u	/* with less the column of shares is left out */

static const struct summary_group *group_at(const struct overview *o, size_t index)
{
	return &o->summary->groups[o->part.first + index];
}

/* What leaks first, then what may. */
static struct row_item sampled_item(const struct summary_group *g)
{
	const enum survival_kind kind = g->sampled ? g->sampled->survival.kind : SURVIVAL_UNKNOWN;

	return (struct row_item){
		.part = kind == SURVIVAL_STAYS || kind == SURVIVAL_UNKNOWN ? ROWS_GROWING : ROWS_LIVE,
		.known = kind == SURVIVAL_STAYS,
		.rate = g->sampled ? g->sampled->may_keep_bytes.value : 0,
	};
}

static struct row_item item(const struct overview *o, size_t index)
{
	static const enum row_part parts[] = {
		[SUMMARY_LOST] = ROWS_LOST,
		[SUMMARY_GROWING] = ROWS_GROWING,
		[SUMMARY_KEPT] = ROWS_LIVE,
		[SUMMARY_HELD] = ROWS_NONE,
	};
	const struct growth *g = &group_at(o, index)->growth;

	if (o->sampled)
		return sampled_item(group_at(o, index));
	return (struct row_item){
		.part = parts[summary_section(o->summary, group_at(o, index))],
		.known = g->shape != GROWTH_UNKNOWN,
		.rate = g->bytes_per_minute,
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

/* Only stacks with a row in the table need be distinguished from one another. */
static int find_apart(struct overview *o)
{
	const struct row_choice *r = &o->rows;
	cleanup_free const struct summary_group **rows = calloc(r->n + 1, sizeof(*rows));
	cleanup_free struct apart *found = calloc(r->n + 1, sizeof(*found));
	size_t n = 0;

	if (!rows || !found)
		return -ENOMEM;
	for (enum row_part part = 0; part < ROWS_PARTS; part++)
		for (size_t i = 0; i < r->in_table[part]; i++)
			rows[n++] = group_at(o, row_choice_of(r, part)[i]);
	apart_find(rows, n, found);
	for (size_t i = 0; i < n; i++)
		o->apart[rows[i] - group_at(o, 0)] = found[i];
	return 0;
}

static void growth_cell(const struct overview *o, const struct summary_group *g, struct strbuf *sb)
{
	const struct summary_group *instead = summary_grows_instead(o->summary, g);
	const struct text_course course = { &g->growth, g->series, g->npoints, o->part.plain,
					    o->summary->columns > 0 };

	if (instead) {
		strbuf_puts(sb, "see ");
		text_number(sb, &o->part, (size_t)(instead - group_at(o, 0)));
	} else {
		text_growth_cell(sb, o->summary, &course);
	}
}

/* On a narrow terminal the column of growth is only as wide as its widest cell. */
static size_t growth_width(const struct overview *o)
{
	const struct row_choice *r = &o->rows;
	size_t widest = strlen("growth");

	if (!o->summary->columns)
		return TEXT_GROWTH_WIDTH;
	for (enum row_part part = 0; part < ROWS_PARTS; part++)
		for (size_t i = 0; i < r->in_table[part]; i++) {
			cleanup_strbuf struct strbuf cell = STRBUF_INIT;

			growth_cell(o, group_at(o, row_choice_of(r, part)[i]), &cell);
			widest = format_width(&cell) > widest ? format_width(&cell) : widest;
		}
	return widest + 1;
}

static size_t where_width(const struct overview *o)
{
	const size_t line = (o->summary->columns ? o->summary->columns : WRAP_WIDTH) - 2;
	size_t others = text_number_width(&o->part);

	if (o->sampled)
		others += TEXT_SAMPLED_WIDTH + 2;
	else
		others += (o->shares ? COLUMN_SHARE : 0) + COLUMN_BLOCKS + 2 + o->growth_width + 1 +
			  (o->part.plain ? 0 : COLUMN_BYTES) + (o->verdicts ? COLUMN_VERDICT : 0);
	return line > others + WHERE_LEAST ? line - others : WHERE_LEAST;
}

int overview_make(const struct summary *s, const struct text_part *part, size_t top, struct overview *o)
{
	cleanup_free struct row_item *items = calloc(part->n + 1, sizeof(*items));
	int r;

	*o = (struct overview){ .summary = s, .part = *part, .sampled = summary_is_sampled(&s->run) };
	o->verdicts = has_verdicts(o);
	if (!items)
		return -ENOMEM;
	o->apart = calloc(part->n + 1, sizeof(*o->apart));
	if (!o->apart)
		return -ENOMEM;
	for (size_t i = 0; i < part->n; i++)
		items[i] = item(o, i);
	r = row_choice_make(items, part->n, top, &o->rows);
	if (r)
		return r;
	o->growth_width = growth_width(o);
	o->shares = true;
	o->shares = where_width(o) >= WHERE_SHORT;
	return find_apart(o);
}

void overview_fini(struct overview *o)
{
	row_choice_fini(&o->rows);
	free(o->apart);
}

static void put_share(const struct overview *o, double part, double all, struct strbuf *sb)
{
	cleanup_strbuf struct strbuf cell = STRBUF_INIT;

	if (!o->shares)
		return;
	format_percent(&cell, part, all);
	format_right(sb, &cell, COLUMN_SHARE);
}

/* What is lost with the group counts as its own. Things without sizes have no columns of bytes. */
static void put_amount(const struct overview *o, const struct summary_group *g, struct strbuf *sb)
{
	double all = (double)(o->part.plain ? o->part.family.live : o->part.family.bytes);
	cleanup_strbuf struct strbuf cell = STRBUF_INIT;

	if (!o->part.plain) {
		format_size(&cell, summary_weight(g));
		format_right(sb, &cell, COLUMN_BYTES);
		put_share(o, (double)summary_weight(g), all, sb);
	}
	strbuf_printf(&cell, "%" PRIu64, g->blocks + g->kind.indirect_blocks);
	format_right(sb, &cell, COLUMN_BLOCKS);
	if (o->part.plain)
		put_share(o, (double)g->blocks, all, sb);
	strbuf_puts(sb, "  ");
}

static void put_cells(const struct overview *o, const struct summary_group *g, struct strbuf *sb)
{
	cleanup_strbuf struct strbuf cell = STRBUF_INIT;

	put_amount(o, g, sb);
	if (o->verdicts)
		strbuf_printf(sb, "%-*s", COLUMN_VERDICT, verdict_name(g->verdict));
	if (text_timed(o->summary)) {
		growth_cell(o, g, &cell);
		format_left(sb, &cell, o->growth_width);
		strbuf_putc(sb, ' ');
	}
}

static void put_row(const void *ctx, size_t index, struct strbuf *sb)
{
	const struct overview *o = ctx;
	const struct summary_group *g = group_at(o, index);
	cleanup_strbuf struct strbuf cell = STRBUF_INIT;

	text_number(&cell, &o->part, index);
	strbuf_puts(sb, "  " TEXT_BOLD);
	format_left(sb, &cell, text_number_width(&o->part));
	strbuf_puts(sb, TEXT_PLAIN);
	if (o->sampled)
		text_sampled_cells(sb, g);
	else
		put_cells(o, g, sb);
	strbuf_puts(sb, TEXT_BOLD);
	text_where(sb, g, &o->apart[index], where_width(o));
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
		bytes += summary_weight(group_at(o, indices[i]));
		blocks += group_at(o, indices[i])->blocks + group_at(o, indices[i])->kind.indirect_blocks;
	}
	if (!o->part.plain) {
		format_size(sb, bytes);
		strbuf_puts(sb, " in ");
	}
	text_things(sb, &o->part, blocks);
}

static void put_heads(const struct overview *o, struct strbuf *sb)
{
	strbuf_printf(sb, "  %-*s", (int)text_number_width(&o->part), "");
	if (o->sampled) {
		text_sampled_heads(sb);
		strbuf_puts(sb, "allocated by\n");
		return;
	}
	if (!o->part.plain)
		strbuf_printf(sb, "%*s", COLUMN_BYTES, "live");
	if (!o->part.plain && o->shares)
		strbuf_printf(sb, "%*s", COLUMN_SHARE, "share");
	strbuf_printf(sb, "%*s", COLUMN_BLOCKS,
		      o->part.plain ? "live" : o->part.family.ranges ? "ranges" : "blocks");
	if (o->part.plain && o->shares)
		strbuf_printf(sb, "%*s", COLUMN_SHARE, "share");
	strbuf_puts(sb, "  ");
	if (o->verdicts)
		strbuf_printf(sb, "%-*s", COLUMN_VERDICT, "verdict");
	if (text_timed(o->summary))
		strbuf_printf(sb, "%-*s ", (int)o->growth_width, "growth");
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

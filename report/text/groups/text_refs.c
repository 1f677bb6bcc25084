/* SPDX-License-Identifier: MIT */
/* text_refs: see text_refs.h; this file has the table, and chooses the groups that are shown. */
#include "report/text/groups/text_refs.h"

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
#include "report/text/groups/wrap.h"

#define WHERE_LEAST 24u	/* with less no function can be recognised */

#define RELEASED "only released: "

static struct row_item item(const struct summary *s, const struct merged_refs *e)
{
	const bool growing = summary_refs_section(s, &e->refs) == SUMMARY_GROWING;
	const struct growth *g = &e->refs.growth;

	return (struct row_item){
		.part = growing ? ROWS_GROWING : ROWS_LIVE, .known = g->shape != GROWTH_UNKNOWN,
		.rate = g->bytes_per_minute,
	};
}

static void make_columns(struct text_refs *t)
{
	static const char *const keys[] = { "objects", "net_text", "live_share" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		columns_add(&t->columns, &fields_ref_row, keys[i]);
	if (text_timed(t->summary))
		columns_add(&t->columns, &fields_ref_row, "growth_column");
}

int text_refs_make(const struct summary *s, const struct text_part *part, size_t top, struct text_refs *t)
{
	cleanup_free struct row_item *items = NULL;
	int r;

	*t = (struct text_refs){ .summary = s, .part = *part, .all = !top };
	make_columns(t);
	r = refs_merge(s, part->first, part->n, &t->entries, &t->n);
	if (r < 0)
		return r;
	items = calloc(t->n + 1, sizeof(*items));
	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < t->n; i++)
		items[i] = item(s, &t->entries[i]);
	return row_choice_make(items, t->n, top, &t->rows);
}

void text_refs_fini(struct text_refs *t)
{
	refs_merge_fini(t->entries, t->n);
	row_choice_fini(&t->rows);
	t->entries = NULL;
	t->n = 0;
}

/* --- the table --- */

static void put_where(const struct text_refs *t, const struct merged_refs *e, struct strbuf *sb)
{
	const struct summary_use *u = e->refs.nacquired	 ? e->refs.acquired
				      : e->refs.nreleased ? e->refs.released
							 : NULL;
	const size_t line = (t->summary->columns ? t->summary->columns : WRAP_ROW_WIDTH) - 2,
		     others = text_number_width(&t->part) + columns_width(&t->columns),
		     width = line > others + WHERE_LEAST ? line - others : WHERE_LEAST;

	if (!u) {
		strbuf_puts(sb, "(no stack)");
		return;
	}
	if (!e->refs.nacquired)
		strbuf_puts(sb, RELEASED);
	strbuf_puts(sb, TEXT_BOLD);
	sitename_of(sb, &u->stack, NULL, e->refs.nacquired ? width : width - strlen(RELEASED));
	strbuf_puts(sb, TEXT_PLAIN);
}

static void put_row(const void *ctx, size_t index, struct strbuf *sb)
{
	const struct text_refs *t = ctx;
	const struct merged_refs *e = &t->entries[index];
	const struct field_source source = { .s = t->summary, .view = t->summary };
	cleanup_strbuf struct strbuf cell = STRBUF_INIT;

	text_number(&cell, &t->part, index);
	strbuf_puts(sb, "  " TEXT_BOLD);
	format_left(sb, &cell, text_number_width(&t->part));
	strbuf_puts(sb, TEXT_PLAIN);
	columns_cells(&t->columns, &source, e, sb);
	put_where(t, e, sb);
	strbuf_putc(sb, '\n');
}

static void put_more(const void *ctx, const size_t *indices, size_t n, struct strbuf *sb)
{
	const struct text_refs *t = ctx;
	uint64_t objects = 0;

	for (size_t i = 0; i < n; i++)
		objects += t->entries[indices[i]].refs.objects;
	text_things(sb, &t->part, objects);
}

void text_refs_table(const struct text_refs *t, struct strbuf *sb)
{
	const struct text_rows rows = { put_row, put_more, t, NULL };

	if (!t->n)
		return;
	strbuf_putc(sb, '\n');
	strbuf_pad(sb, ' ', 2 + text_number_width(&t->part));
	columns_heads(&t->columns, sb);
	strbuf_puts(sb, "acquired by\n");
	text_rows_put(&rows, &t->rows, text_timed(t->summary), sb);
}

/* --- numbered groups --- */

static void put_rest(const struct text_refs *t, struct strbuf *sb)
{
	uint64_t objects = 0;

	if (t->rows.nshown == t->n)
		return;
	for (size_t i = 0; i < t->n; i++)
		objects += t->rows.shown[i] ? 0 : t->entries[i].refs.objects;
	strbuf_putc(sb, '\n');
	format_count(sb, t->n - t->rows.nshown, "more group");
	strbuf_puts(sb, " with ");
	text_things(sb, &t->part, objects);
	strbuf_puts(sb, " not shown (--top 0 shows all)\n");
}

void text_refs_details(const struct text_refs *t, struct strbuf *sb)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->rows.shown[i]) {
			strbuf_putc(sb, '\n');
			text_refs_entry(t, i, sb);
		}
	put_rest(t, sb);
}

/* SPDX-License-Identifier: MIT */
/* overview: see overview.h. */
#include "report/overview.h"

#include <errno.h>
#include <stdlib.h>

#include "report/text_growth.h"
#include "report/text_stack.h"
#include "report/words.h"

#define ROWS_MAX 10
#define KEPT_SHARE 3		/* the part that does not grow has a third of the rows for itself */

/* Widths of the columns; what is left of a line of 100 characters is for the last. */
#define COLUMN_NUMBER 6
#define COLUMN_BYTES 9
#define COLUMN_SHARE 7
#define COLUMN_BLOCKS 9
#define COLUMN_WHERE (100 - 2 - COLUMN_NUMBER - COLUMN_BYTES - COLUMN_SHARE - COLUMN_BLOCKS - 2 - TEXT_GROWTH_WIDTH - 1)

static bool unknown(const struct summary_group *g)
{
	return g->growth.shape == GROWTH_UNKNOWN;
}

/* Fastest first; then those of which nothing is known; of equal ones the larger, which is the one before. */
static int compare_growth(const void *pa, const void *pb, void *ctx)
{
	const struct summary *s = ctx;
	size_t ia = *(const size_t *)pa, ib = *(const size_t *)pb;
	const struct summary_group *a = &s->groups[ia], *b = &s->groups[ib];

	if (unknown(a) != unknown(b))
		return unknown(a) ? 1 : -1;
	if (!unknown(a) && a->growth.bytes_per_minute > b->growth.bytes_per_minute)
		return -1;
	if (!unknown(a) && a->growth.bytes_per_minute < b->growth.bytes_per_minute)
		return 1;
	return ia < ib ? -1 : ia > ib;
}

/* Rows in the order of both parts. Without times nothing can be said to grow. */
static void divide(struct overview *o)
{
	const struct summary *s = o->summary;

	for (size_t i = 0; i < s->ngroups; i++)
		if (text_timed(s) && text_growing(&s->groups[i]))
			o->rows[o->ngrowing++] = i;
	for (size_t i = 0; i < s->ngroups; i++)
		if (!text_timed(s) || !text_growing(&s->groups[i]))
			o->rows[o->ngrowing + o->nkept++] = i;
	if (o->ngrowing)
		qsort_r(o->rows, o->ngrowing, sizeof(*o->rows), compare_growth, (void *)s);
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void choose(struct overview *o, size_t top)
{
	size_t rows = top ? smaller(top, ROWS_MAX) : ROWS_MAX;
	size_t n = o->summary->ngroups;

	o->growing_rows = smaller(o->ngrowing, rows - smaller(o->nkept, rows / KEPT_SHARE));
	o->kept_rows = smaller(o->nkept, rows - o->growing_rows);
	for (size_t i = 0; i < o->growing_rows; i++)
		o->shown[o->rows[i]] = true;
	for (size_t i = 0; i < o->kept_rows; i++)
		o->shown[o->rows[o->ngrowing + i]] = true;
	o->nshown = o->growing_rows + o->kept_rows;
	for (size_t i = 0; i < n && (!top || o->nshown < top); i++) {
		o->nshown += !o->shown[i];
		o->shown[i] = true;
	}
}

int overview_make(const struct summary *s, size_t top, struct overview *o)
{
	*o = (struct overview){ .summary = s };
	o->rows = calloc(s->ngroups + 1, sizeof(*o->rows));
	o->shown = calloc(s->ngroups + 1, sizeof(*o->shown));
	if (!o->rows || !o->shown) {
		overview_fini(o);
		return -ENOMEM;
	}
	divide(o);
	choose(o, top);
	return 0;
}

void overview_fini(struct overview *o)
{
	free(o->rows);
	free(o->shown);
	o->rows = NULL;
	o->shown = NULL;
}

static void put_row(const struct overview *o, size_t index, struct strbuf *sb)
{
	const struct summary *s = o->summary;
	const struct summary_group *g = &s->groups[index];
	cleanup_strbuf struct strbuf cell = STRBUF_INIT;

	strbuf_printf(&cell, "[%zu]", index + 1);
	strbuf_puts(sb, "  ");
	words_left(sb, &cell, COLUMN_NUMBER);
	words_size(&cell, g->bytes);
	words_right(sb, &cell, COLUMN_BYTES);
	words_percent(&cell, (double)g->bytes, (double)s->totals.live_bytes);
	words_right(sb, &cell, COLUMN_SHARE);
	strbuf_printf(&cell, "%" PRIu64, g->blocks);
	words_right(sb, &cell, COLUMN_BLOCKS);
	strbuf_puts(sb, "  ");
	if (text_timed(s)) {
		text_growth_cell(&cell, s, g);
		words_left(sb, &cell, TEXT_GROWTH_WIDTH);
		strbuf_putc(sb, ' ');
	}
	text_where(sb, g, COLUMN_WHERE);
	strbuf_putc(sb, '\n');
}

static void put_more(const struct overview *o, size_t from, size_t n, struct strbuf *sb)
{
	uint64_t bytes = 0, blocks = 0;

	if (!n)
		return;
	for (size_t i = from; i < from + n; i++) {
		bytes += o->summary->groups[o->rows[i]].bytes;
		blocks += o->summary->groups[o->rows[i]].blocks;
	}
	strbuf_printf(sb, "  and %zu more: ", n);
	words_size(sb, bytes);
	strbuf_puts(sb, " in ");
	words_count(sb, blocks, "block");
	strbuf_putc(sb, '\n');
}

static void put_part(const struct overview *o, const char *title, size_t from, size_t n, size_t rows, struct strbuf *sb)
{
	if (!n)
		return;
	strbuf_printf(sb, "%s\n", title);
	for (size_t i = from; i < from + rows; i++)
		put_row(o, o->rows[i], sb);
	put_more(o, from + rows, n - rows, sb);
	strbuf_putc(sb, '\n');
}

static void put_heads(const struct overview *o, struct strbuf *sb)
{
	strbuf_printf(sb, "  %-*s%*s%*s%*s  ", COLUMN_NUMBER, "", COLUMN_BYTES, "kept", COLUMN_SHARE, "share", COLUMN_BLOCKS,
		      "blocks");
	if (text_timed(o->summary))
		strbuf_printf(sb, "%-*s ", TEXT_GROWTH_WIDTH, "growth");
	strbuf_puts(sb, "where\n");
}

static const char *growing_title(const struct overview *o)
{
	const struct summary *s = o->summary;
	bool first = unknown(&s->groups[o->rows[0]]), last = unknown(&s->groups[o->rows[o->ngrowing - 1]]);

	if (first)
		return "kept, perhaps growing";
	return last ? "growing, or perhaps growing" : "growing";
}

void overview_put(const struct overview *o, struct strbuf *sb)
{
	if (o->summary->ngroups)
		put_heads(o, sb);
	if (o->ngrowing)
		put_part(o, growing_title(o), 0, o->ngrowing, o->growing_rows, sb);
	put_part(o, text_timed(o->summary) ? "kept, but not growing" : "kept", o->ngrowing, o->nkept, o->kept_rows, sb);
}

void overview_rest(const struct overview *o, struct strbuf *sb)
{
	const struct summary *s = o->summary;
	uint64_t bytes = 0;

	if (o->nshown == s->ngroups)
		return;
	for (size_t i = 0; i < s->ngroups; i++)
		bytes += o->shown[i] ? 0 : s->groups[i].bytes;
	strbuf_putc(sb, '\n');
	words_count(sb, s->ngroups - o->nshown, "more group");
	strbuf_puts(sb, " with ");
	words_size(sb, bytes);
	strbuf_puts(sb, " not shown (--top 0 shows all)\n");
}

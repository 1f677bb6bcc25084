/* SPDX-License-Identifier: MIT */
/* text_rows: see text_rows.h. */
#include "report/text/groups/text_rows.h"

#include "report/text/groups/text_mark.h"

static void put_part(const struct text_rows *t, const char *title, const size_t *indices, size_t n,
		     size_t rows, struct strbuf *sb)
{
	if (!n)
		return;
	strbuf_printf(sb, TEXT_BOLD "%s" TEXT_PLAIN "\n", title);
	for (size_t i = 0; i < rows; i++)
		t->row(t->ctx, indices[i], sb);
	if (rows < n) {
		strbuf_printf(sb, "  and %zu more: ", n - rows);
		t->more(t->ctx, indices + rows, n - rows, sb);
		strbuf_putc(sb, '\n');
	}
}

static const char *growing_title(const struct text_titles *titles, const struct row_choice *rows)
{
	if (rows->nunknown == rows->counts[ROWS_GROWING])
		return titles->unknown;
	return rows->nunknown ? titles->both : titles->growing;
}

void text_rows_put(const struct text_rows *t, const struct row_choice *rows, bool timed, struct strbuf *sb)
{
	static const struct text_titles untimed = {
		"growing", "growing, or perhaps growing", "live, perhaps growing", "live",
	};
	static const struct text_titles usual = {
		"growing", "growing, or perhaps growing", "live, perhaps growing", "live, but not growing",
	};
	const struct text_titles *titles = t->titles ? t->titles : timed ? &usual : &untimed;
	const char *of_parts[ROWS_PARTS] = { "lost", growing_title(titles, rows), titles->kept };

	for (enum row_part part = 0; part < ROWS_PARTS; part++) {
		const size_t *indices = row_choice_of(rows, part);

		if (rows->counts[part] && indices > rows->order)
			strbuf_putc(sb, '\n');
		put_part(t, of_parts[part], indices, rows->counts[part], rows->in_table[part], sb);
	}
}

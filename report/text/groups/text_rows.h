/* SPDX-License-Identifier: MIT */
/*
 * text_rows: the parts of a table (report/model/row_choice.h), with their titles, and a line on the groups
 * that have no row.
 */
#ifndef MM_TEXT_ROWS_H
#define MM_TEXT_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "report/model/row_choice.h"

/*
 * Titles of the parts. The first three are for the growing part: growth is known of all rows, of some, of
 * none.
 */
struct text_titles {
	const char *growing, *both, *unknown;
	const char *kept;
};

struct text_rows {
	void (*row)(const void *ctx, size_t index, struct strbuf *sb);		/* a line */
	/* the sum of these */
	void (*more)(const void *ctx, const size_t *indices, size_t n, struct strbuf *sb);
	const void *ctx;
	const struct text_titles *titles;	/* NULL: the usual ones */
};

void text_rows_put(const struct text_rows *t, const struct row_choice *rows, bool timed, struct strbuf *sb);

#endif

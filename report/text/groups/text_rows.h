/* SPDX-License-Identifier: MIT */
/*
 * text_rows: the parts of a table (report/model/rows.h), with their titles, and what is said of the groups that have
 * no row.
 */
#ifndef MM_TEXT_ROWS_H
#define MM_TEXT_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "report/model/rows.h"

/* What the parts are called. */
struct text_titles {
	const char *growing, *both, *unknown;	/* of the first, by whether that is known of all, of some, of none */
	const char *kept;
};

struct text_rows {
	void (*row)(const void *ctx, size_t index, struct strbuf *sb);			/* a line */
	void (*more)(const void *ctx, const size_t *indices, size_t n, struct strbuf *sb);	/* what these are together */
	const void *ctx;
	const struct text_titles *titles;	/* NULL: the usual ones */
};

void text_rows_put(const struct text_rows *t, const struct rows *rows, bool timed, struct strbuf *sb);

#endif

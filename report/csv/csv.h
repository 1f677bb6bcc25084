/* SPDX-License-Identifier: MIT */
/*
 * csv: tables as comma-separated values (RFC 4180), of objects that have tables of fields
 * (report/fields/field.h). A field is a column; a flat object has a column for each of its fields, an
 * interval three, a stack those of csv_stack_heads. Lines end with CR LF, as the RFC requires.
 *
 * The lines of one table may be of two kinds of objects (blocks, and objects with references): columns that
 * have one name are one column, and the cells of a kind that lacks a column are empty.
 */
#ifndef MM_CSV_H
#define MM_CSV_H

#include <stddef.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "report/fields/field.h"

#define CSV_KINDS 2

struct csv_column {
	struct strbuf head;
	const struct field *field;
};

struct csv_table {
	unsigned in;			/* which fields: FIELD_CSV, FIELD_SCAN */
	const struct fields *kinds[CSV_KINDS];
	struct csv_column *columns;
	size_t n, size;
	size_t *places[CSV_KINDS];	/* by kind: the column of each of its cells */
	struct strbuf *cells;		/* of the line that is being made */
};

/* @b may be NULL. 0 or -ENOMEM; csv_fini in any case. */
must_check int csv_init(struct csv_table *t, unsigned in, const struct fields *a, const struct fields *b);
void csv_fini(struct csv_table *t);

void csv_head(struct csv_table *t, struct strbuf *sb);
/* @kind: 0 for @a, 1 for @b. */
void csv_line(struct csv_table *t, const struct field_source *c, unsigned kind, const void *object,
	      struct strbuf *sb);
/* An entry for each column (report/fields/visit.h). */
void csv_describe(const struct csv_table *t, struct strbuf *sb);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * columns: the columns of a table of a text report, which are fields that have a head and a width
 * (report/fields/table.h, COLUMN). A line of a table is
 *
 *	  [3]       1.2 MiB    45%     1204  +1.2 MiB/min     session_open svc.c:42
 *	  number    numbers at the right of their columns, texts at the left; and a name that gets the rest of the line
 *
 * Numbers and the name are the table's own (text_number, sitename): what is between them is printed here.
 */
#ifndef MM_COLUMNS_H
#define MM_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "report/fields/field.h"

#define COLUMNS_MOST 8

struct column {
	const struct fields *of;
	size_t field;			/* index in of->all */
	const char *head;
	int width;			/* negative: a text, at the left */
};

struct columns {
	struct column all[COLUMNS_MOST];
	size_t n;
	bool all_of_it;			/* no name is behind them */
};

/* Add the column of a field, whose head and width may be changed then. */
struct column *columns_add(struct columns *t, const struct fields *of, const char *key);

/* The characters that all columns take, with the blanks behind them. */
size_t columns_width(const struct columns *t);

void columns_heads(const struct columns *t, struct strbuf *sb);

/* @object: of all the fields. */
void columns_cells(const struct columns *t, const struct field_source *c, const void *object,
		   struct strbuf *sb);

#endif

/* SPDX-License-Identifier: MIT */
/* csv_cell: the cells of one value. */
#ifndef MM_CSV_CELL_H
#define MM_CSV_CELL_H

#include <stddef.h>

#include "base/strbuf.h"
#include "report/fields/field.h"

/*
 * How many columns it has, and what is behind the key of its @i-th in the head: "" for the only one; of a
 * stack this replaces the key: the allocation site, which is the first frame that is not a wrapper, and all
 * names in one cell.
 */
size_t csv_cell_count(enum field_type type);
const char *csv_cell_suffix(enum field_type type, size_t i);

/* Append the @i-th cell. A value that is not known is an empty one. */
void csv_cell(struct strbuf *sb, const struct field *f, const struct field_value *v, size_t i);

#endif

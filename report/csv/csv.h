/* SPDX-License-Identifier: MIT */
/* csv: prints the cells of a CSV line (RFC 4180). Lines end with CR LF, as the RFC requires. */
#ifndef MM_CSV_H
#define MM_CSV_H

#include <stdint.h>

#include "base/strbuf.h"
#include "report/model/summary.h"

/* Quoted and safe: strbuf_csv. */
void csv_string(struct strbuf *sb, const char *separator, const char *value);
void csv_number(struct strbuf *sb, const char *separator, uint64_t value);
void csv_real(struct strbuf *sb, const char *separator, double value);
void csv_end(struct strbuf *sb);

/* The column names of the cells of csv_where. */
#define CSV_WHERE "function,file,line,module,offset,stack"

/*
 * The allocation site, which is the first frame after the wrappers, and the whole stack in one cell: names,
 * leaf first, separated by " < ".
 */
void csv_where(struct strbuf *sb, const char *separator, const struct stack_view *stack);

#endif

/* SPDX-License-Identifier: MIT */
/* csv: cells of a line, for whoever prints CSV (RFC 4180). Lines end with CR LF, as there. */
#ifndef MM_CSV_H
#define MM_CSV_H

#include <stdint.h>

#include "base/strbuf.h"
#include "report/model/summary.h"

void csv_string(struct strbuf *sb, const char *separator, const char *value);	/* quoted and safe: strbuf_csv */
void csv_number(struct strbuf *sb, const char *separator, uint64_t value);
void csv_real(struct strbuf *sb, const char *separator, double value);
void csv_end(struct strbuf *sb);

/* The heads of the cells of csv_where. */
#define CSV_WHERE "function,file,line,module,offset,stack"

/* The frame behind the wrappers, which the report calls "where", and the whole stack in one cell: names, leaf first, between them " < ". */
void csv_where(struct strbuf *sb, const char *separator, const struct stack_view *stack);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * json: prints the members of JSON objects. The separator before a member is an argument, so no state is
 * needed that says whether it is the first. The output is always valid UTF-8 (base/strbuf.h).
 */
#ifndef MM_JSON_H
#define MM_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "report/model/summary.h"

/* The beginning of all our JSON files: {"mmattach": {version, schema}. */
void json_begin(struct strbuf *sb);

/* "name": as the first or a further member of an object. */
void json_key(struct strbuf *sb, const char *separator, const char *name);

/* NULL is "". */
void json_string(struct strbuf *sb, const char *separator, const char *name, const char *value);
/* NULL is null. */
void json_text(struct strbuf *sb, const char *separator, const char *name, const char *value);
void json_number(struct strbuf *sb, const char *separator, const char *name, uint64_t value);
void json_signed(struct strbuf *sb, const char *separator, const char *name, int64_t value);
void json_bool(struct strbuf *sb, const char *separator, const char *name, bool value);
/* 0 for infinity and NaN. */
void json_real(struct strbuf *sb, const char *separator, const char *name, double value);
/* null for infinity and NaN. */
void json_real_or_null(struct strbuf *sb, const char *separator, const char *name, double value);
void json_address(struct strbuf *sb, const char *separator, const char *name, uint64_t value);

/* {"blocks": N, "bytes": N}; and one of these for each verdict. */
void json_sum(struct strbuf *sb, const char *separator, const char *name, const struct summary_sum *sum);
void json_sums(struct strbuf *sb, const char *separator, const char *name,
	       const struct summary_sum sums[VERDICT_COUNT]);

/* "name": [ */
void json_list(struct strbuf *sb, const char *separator, const char *name);

/* The text before element @i of a list that has one line per element. */
void json_next_line(struct strbuf *sb, size_t i, const char *indent);

/* "start": "2026-01-01T00:00:00.250Z" */
void json_start(struct strbuf *sb, const char *separator, int64_t start_ns);

#endif

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

/* "name": as the first or a further member of an object. */
void json_key(struct strbuf *sb, const char *separator, const char *name);

/* NULL is "". */
void json_string(struct strbuf *sb, const char *separator, const char *name, const char *value);
void json_number(struct strbuf *sb, const char *separator, const char *name, uint64_t value);
/* 0 for infinity and NaN. */
void json_real(struct strbuf *sb, const char *separator, const char *name, double value);

/* "name": [ */
void json_list(struct strbuf *sb, const char *separator, const char *name);

/* The text before element @i of a list that has one line per element. */
void json_next_line(struct strbuf *sb, size_t i, const char *indent);

#endif

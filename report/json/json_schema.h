/* SPDX-License-Identifier: MIT */
/* json_schema: what the tables of fields say, as a JSON Schema (2020-12), and in words. */
#ifndef MM_JSON_SCHEMA_H
#define MM_JSON_SCHEMA_H

#include <stddef.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "report/fields/field.h"

/* A document is one of the @n @roots. Append to @sb; 0 or -ENOMEM. */
must_check int json_schema(struct strbuf *sb, const struct fields *const *roots, size_t n);
must_check int json_describe(struct strbuf *sb, const struct fields *const *roots, size_t n);

#endif

/* SPDX-License-Identifier: MIT */
/* visit: all tables that are reached from some, each once: the outer ones first. */
#ifndef MM_FIELD_VISIT_H
#define MM_FIELD_VISIT_H

#include <stddef.h>

#include "base/cleanup.h"
#include "report/fields/field.h"

struct fields_found {
	const struct fields **all;
	size_t n, size;
};

/*
 * Those reached from @root by fields that are in one of the formats @in. 0 or -ENOMEM; fields_found_fini in
 * any case.
 */
must_check int fields_find(struct fields_found *found, const struct fields *root, unsigned in);
void fields_found_fini(struct fields_found *found);

/*
 * Append what @fields are, as Markdown, which is also good to read: a heading, and an entry for each field
 * that is in one of the formats @in.
 */
void fields_describe(struct strbuf *sb, const struct fields *fields, unsigned in);
/* The same for one field, with @head in place of its name. */
void field_describe(struct strbuf *sb, const char *head, const struct field *f);

#endif

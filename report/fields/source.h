/* SPDX-License-Identifier: MIT */
/* source: what the fields of a report are read from: its summary, with the rows that people see. */
#ifndef MM_FIELD_SOURCE_H
#define MM_FIELD_SOURCE_H

#include "report/fields/field.h"
#include "report/names/rows.h"

struct report_source {
	struct field_source its;
	struct rows rows;
};

/* @s is sorted, and outlives @out. 0 or -ENOMEM; report_source_fini in any case. */
must_check int report_source_make(const struct summary *s, struct report_source *out);
void report_source_fini(struct report_source *r);

#endif

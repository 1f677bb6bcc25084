/* SPDX-License-Identifier: MIT */
/* fields: the tables of whole reports (report/fields/field.h); all others are reached from these. */
#ifndef MM_REPORT_FIELDS_H
#define MM_REPORT_FIELDS_H

#include "report/fields/field.h"

/* The objects: struct summary, struct diff; anything. */
extern const struct fields fields_report, fields_diff, fields_mmattach;

/* What stacks are of: struct summary_frame. */
extern const struct fields fields_frame;

/* Lines of text tables: struct summary_group of a view, merged_refs, lookup_block, scan_python_type. */
extern const struct fields fields_row, fields_ref_row, fields_listed, fields_python_type;

/* Lines of CSV: struct summary_group, summary_refs; diff_group, diff_refs. */
extern const struct fields fields_group, fields_refs, fields_change, fields_ref_change;

#endif

/* SPDX-License-Identifier: MIT */
/*
 * out_csv: a report as comma-separated values: a head line, then a line for each group of blocks, and for
 * each of objects. The columns are those fields of report/fields that say so; `mmattach formats csv` lists
 * them. A cell is empty if its value is not known, has no bound, or is none of what the line is of. So
 * leaked_bytes_per_minute is empty for a group of which it is not known whether it leaks: the column's sum
 * has only what is known.
 */
#ifndef MM_OUT_CSV_H
#define MM_OUT_CSV_H

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "report/diff/diff.h"
#include "report/model/scan.h"
#include "report/model/summary.h"

/* Append all of it to @sb, whatever @top is. 0 or -ENOMEM. */
must_check int out_csv(const struct summary *s, size_t top, struct strbuf *sb);
must_check int out_diff_csv(const struct diff *d, size_t top, struct strbuf *sb);
must_check int out_scan_csv(const struct scan_report *r, size_t top, struct strbuf *sb);

/* The columns of each kind of report, in words. 0 or -ENOMEM. */
must_check int out_csv_describe(struct strbuf *sb);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * out_csv: a summary as comma-separated values (RFC 4180): a head line, then a line for each group. Columns
 * are added at the end, never renamed. Their meaning is described in report/json/out_json.h. A cell is empty
 * if its value is not known or has no bound. So kept_bytes_per_minute is empty for a group of which it is not
 * known whether it leaks: the column's sum counts only what is known (may_keep_bytes_per_minute includes such
 * groups). bytes_taken and bytes_returned are for ranges. A difference has the numbers of
 * report/json/out_diff_json.h, with objects in the columns of blocks; a scan has the groups of
 * report/json/out_scan_json.h.
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

#endif

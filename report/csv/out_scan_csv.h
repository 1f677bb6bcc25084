/* SPDX-License-Identifier: MIT */
/* out_scan_csv: the groups of a scan as comma-separated values (RFC 4180): a head line, then a line for each. */
#ifndef MM_OUT_SCAN_CSV_H
#define MM_OUT_SCAN_CSV_H

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "report/model/scan.h"

/* Append it to @sb. 0 or -ENOMEM. */
must_check int out_scan_csv(const struct scan_report *r, struct strbuf *sb);

#endif

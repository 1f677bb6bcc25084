/* SPDX-License-Identifier: MIT */
/* empty_report: the text report when there are no groups to show: it says so, and why that may be wrong. */
#ifndef MM_EMPTY_REPORT_H
#define MM_EMPTY_REPORT_H

#include "base/strbuf.h"
#include "report/model/summary.h"

void empty_report_put(struct strbuf *sb, const struct summary *s);

#endif

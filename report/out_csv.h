/* SPDX-License-Identifier: MIT */
/* out_csv: a summary as comma-separated values (RFC 4180): a head line, then a line for each group. */
#ifndef MM_OUT_CSV_H
#define MM_OUT_CSV_H

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "report/summary.h"

/* Append it to @sb. 0 or -ENOMEM. */
must_check int out_csv(const struct summary *s, struct strbuf *sb);

#endif

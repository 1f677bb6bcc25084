/* SPDX-License-Identifier: MIT */
/* nothing: the text report when there are no groups to show: it says so, and why that may be wrong. */
#ifndef MM_NOTHING_H
#define MM_NOTHING_H

#include "base/strbuf.h"
#include "report/model/summary.h"

void nothing_put(struct strbuf *sb, const struct summary *s);

#endif

/* SPDX-License-Identifier: MIT */
/* nothing: what the text report says where there is nothing to show: that this is so, and what may be wrong with it. */
#ifndef MM_NOTHING_H
#define MM_NOTHING_H

#include "base/strbuf.h"
#include "report/model/summary.h"

void nothing_put(struct strbuf *sb, const struct summary *s);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * unseen_allocs: functions that allocate, in a module that is in use, and could not be watched. What they allocate is
 * in no number of the report, and that there is no leak means nothing.
 *
 * In use: a function of the module was called, if one of any module was.
 */
#ifndef MM_UNSEEN_ALLOCS_H
#define MM_UNSEEN_ALLOCS_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "report/model/summary.h"

bool unseen_allocs_any(const struct summary_run *run);

/* "malloc and 9 more functions of libtcmalloc.so.4.5.10"; nothing if there are none. */
void unseen_allocs_put(struct strbuf *sb, const struct summary_run *run);

#endif

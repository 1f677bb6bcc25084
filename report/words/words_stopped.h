/* SPDX-License-Identifier: MIT */
/* words_stopped: for how long the target was stopped because of us, for the end of a report and for its head. */
#ifndef MM_WORDS_STOPPED_H
#define MM_WORDS_STOPPED_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "report/model/summary.h"

/* Lines, each with its end: the sum, and shares of the time of one thread, of several, of all. */
void words_stopped(struct strbuf *sb, const struct summary_run *run, bool merged);

/* "80%", "of the time of the thread that it cost most; stopped for 1s in all" */
void words_cost(struct strbuf *value, struct strbuf *more, const struct summary_run *run);

#endif

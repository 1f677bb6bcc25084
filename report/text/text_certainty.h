/* SPDX-License-Identifier: MIT */
/*
 * text_certainty: how sure the answer is: lines below it, which say where the end of the report has more, or
 * why there are no verdicts and what makes them possible. None where there is no reason to doubt.
 *
 *	incomplete: 8 events were lost, 1 gap of 3.5s in the watch; see the end of this report
 *	no verdicts: the pause would have been about 600ms, more than --max-pause 200ms (--verdicts yes ...)
 *	verdicts may be weaker than they look: 2 doubts; see the end of this report
 *	watched for 10s: what is meant to live longer (caches, sessions) looks like a leak; watch for longer
 */
#ifndef MM_TEXT_CERTAINTY_H
#define MM_TEXT_CERTAINTY_H

#include "base/strbuf.h"
#include "report/model/summary.h"

/* Of a watch. */
void text_certainty(struct strbuf *sb, const struct summary *s);

/*
 * The lines, for other reports: @missing is what is missing, separated by text_certainty_next before each;
 * empty for no line.
 */
void text_certainty_next(struct strbuf *missing);
void text_certainty_incomplete(struct strbuf *sb, const struct strbuf *missing);
void text_certainty_doubts(struct strbuf *sb, const struct summary_verdicts *v);

#endif

/* SPDX-License-Identifier: MIT */
/* text_answer: what the text report says first: how much is live, of how much, and whether it grows. */
#ifndef MM_TEXT_ANSWER_H
#define MM_TEXT_ANSWER_H

#include "base/strbuf.h"
#include "report/model/summary.h"
#include "report/model/text_parts.h"

/*
 * One line; of several families one each. Below it: the verdicts, the kernel's figures for the memory, and
 * how sure all that is.
 */
void text_answer(struct strbuf *sb, const struct summary *s);

/* ", growing by 384 KiB/min": how all groups that are shown grow, taken together. */
void text_answer_growth(struct strbuf *sb, const struct summary *s, const struct text_part *part);

/* The same as a number, bytes a minute, of all families of memory. */
double text_answer_rate(const struct summary *s);

#endif

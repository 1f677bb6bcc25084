/* SPDX-License-Identifier: MIT */
/* text_answer: what the text report says first: how much is live, of how much, and whether it grows. */
#ifndef MM_TEXT_ANSWER_H
#define MM_TEXT_ANSWER_H

#include "base/strbuf.h"
#include "report/model/summary.h"

/*
 * One line; of several families one each. Below it: the verdicts, the kernel's figures for the memory, and
 * how sure all that is.
 */
void text_answer(struct strbuf *sb, const struct summary *s);

#endif

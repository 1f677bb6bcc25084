/* SPDX-License-Identifier: MIT */
/*
 * text_budget: how a sampled run went: what it cost, how much of the program was watched for that, what could
 * not be seen. Lines of the head of the text report (report/text/text_head.h).
 */
#ifndef MM_TEXT_BUDGET_H
#define MM_TEXT_BUDGET_H

#include "base/strbuf.h"
#include "report/model/summary.h"

void text_budget(struct strbuf *sb, const struct summary *s);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * text_budget: how a sampled run was done: what it has cost, how much of the program that sufficed for, what it could not see. Lines of the head of the text
 * report (report/text/text_head.h).
 */
#ifndef MM_TEXT_BUDGET_H
#define MM_TEXT_BUDGET_H

#include "base/strbuf.h"
#include "report/model/summary.h"

void text_budget(struct strbuf *sb, const struct summary *s);

#endif

/* SPDX-License-Identifier: MIT */
/* json_sampled: the additional members of a report of a sampled run (report/json/out_json.h). */
#ifndef MM_JSON_SAMPLED_H
#define MM_JSON_SAMPLED_H

#include "base/strbuf.h"
#include "report/model/summary.h"

/* The member "budget" of a run; nothing if no budget was recorded. */
void json_budget(struct strbuf *sb, const struct summary_budget *b);

/* The members "seen", "turnover", "why_unknown", "estimate" and "survival" of a group. */
void json_sample(struct strbuf *sb, const struct summary_sample *s);

/* The member "estimated_from" of a group in a sample by bytes. */
void json_bounds(struct strbuf *sb, const struct summary_group *g);

#endif

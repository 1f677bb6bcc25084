/* SPDX-License-Identifier: MIT */
/* plansite: what plan.c and plansite.c share of filling in one site. */
#ifndef MM_PLANSITE_H
#define MM_PLANSITE_H

#include "attach/probes/plan.h"

/* The words to be read from the target when a call of @r's function returns with its result in s->result. */
void add_words(const struct rule *r, const struct plan_options *opt, struct site *s);

#endif

/* SPDX-License-Identifier: MIT */
/* plansite: what plan.c and plansite.c share of filling in one site. */
#ifndef MM_PLANSITE_H
#define MM_PLANSITE_H

#include "attach/probes/plan.h"

/* What is read from the target's memory for @r. */
void add_loads(const struct rule *r, const struct plan_options *opt, struct site *s);

#endif

/* SPDX-License-Identifier: MIT */
/* option_budget: handler of --budget (see option_table.h), and what it cannot be combined with. */
#ifndef MM_OPTION_BUDGET_H
#define MM_OPTION_BUDGET_H

#include "attach/options/options.h"

int option_budget(struct options *o, const char *arg, struct usage_error *err);

/* 0 or -EINVAL with @err filled. */
must_check int option_budget_check(const struct options *o, struct usage_error *err);

#endif

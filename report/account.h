/* SPDX-License-Identifier: MIT */
/*
 * account: from a ledger to a summary that can be printed: the run, the totals, double frees, groups.
 */
#ifndef MM_ACCOUNT_H
#define MM_ACCOUNT_H

#include "base/cleanup.h"
#include "report/groups/groups.h"
#include "report/ledger/ledger.h"
#include "report/model/summary.h"

/* Fill @out (initialised here; summary_fini in any case). Strings are copied. 0 or -ENOMEM. */
must_check int account_summary(struct ledger *l, const struct groups_options *opt, struct summary *out);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * merge_ledger: adds a merged ledger to another one. What it has is mapped by content (merge_defs.h), numbers
 * are summed, series are summed by the time since each run's start: a shorter run keeps its last value.
 *
 * The result of several additions depends on their order only in the numbers that things get; merge_sorted
 * makes a copy in which it does not depend on that either.
 */
#ifndef MM_MERGE_LEDGER_H
#define MM_MERGE_LEDGER_H

#include "base/cleanup.h"
#include "report/ledger/ledger.h"
#include "report/merge/merge_defs.h"

/*
 * Add @from, whose series are advanced to the end of the longer run. 0; -ENOMEM; -EINVAL: too many families.
 */
must_check int merge_ledger(struct merge_defs *to, struct ledger *from);

/*
 * Make @out (initialised here; ledger_fini in any case) of @from, in the order of the content. 0 or -errno.
 */
must_check int merge_sorted(struct ledger *from, struct ledger *out);

#endif

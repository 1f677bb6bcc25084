/* SPDX-License-Identifier: MIT */
/*
 * hangs: which groups of indirectly lost blocks hang on which groups of lost ones.
 *
 * A run says of each indirectly lost block which lost one it counts by (MMT_JUDGED). Here that becomes sums of groups:
 * of the blocks of group G so many are lost with blocks of group R. Where R's block was not watched, or is not
 * in a group that is shown, nothing is known of it.
 */
#ifndef MM_HANGS_H
#define MM_HANGS_H

#include <stdint.h>

#include "base/cleanup.h"
#include "report/ledger/ledger.h"
#include "report/model/groupmap.h"
#include "report/model/summary.h"

/* When all groups are in @s, unsorted: fill in their `hangs` and `held`. 0 or -ENOMEM. */
must_check int hangs_add(const struct groupmap *groups, const struct ledger *l, uint64_t older_than_us, struct summary *s);

#endif

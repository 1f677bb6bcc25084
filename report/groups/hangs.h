/* SPDX-License-Identifier: MIT */
/*
 * hangs: which groups of indirectly lost blocks are lost with which groups of lost ones.
 *
 * A run records for each indirectly lost block the lost block with which it is counted (MMT_JUDGED). Here
 * these are summed up by groups: how many blocks of group G are lost with blocks of group R. If R's block was
 * not watched, or is in no group that is shown, nothing is known about it.
 */
#ifndef MM_HANGS_H
#define MM_HANGS_H

#include <stdint.h>

#include "base/cleanup.h"
#include "report/ledger/ledger.h"
#include "report/model/groupmap.h"
#include "report/model/summary.h"

/* When all groups are in @s, unsorted: fill in their `hangs` and `held`. 0 or -ENOMEM. */
must_check int hangs_add(const struct groupmap *groups, const struct ledger *l, uint64_t older_than_us,
			 struct summary *s);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * merge_lists: what is known of the runs, as lists: probes, losses, notes, double frees, counts, verdicts of
 * whole processes. Equal items are one, and their numbers are summed.
 */
#ifndef MM_MERGE_LISTS_H
#define MM_MERGE_LISTS_H

#include "base/cleanup.h"
#include "report/merge/merge_defs.h"

/* 0; -ENOMEM; -EINVAL: too many families. */
must_check int merge_lists(struct merge_map *m, const struct ledger *from, struct ledger *into);

/*
 * Sort lists by their content; double frees, and what hangs on what, by the order of stacks and groups. After
 * each the ledger may only be read: its indices are those of the order before.
 */
void merge_lists_sort(struct ledger *l);
void merge_lists_sort_stacks(struct ledger *l);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * merge_one: the ledger of one process in the form of a merged one: its live blocks as groups, itself as the
 * only process, its notes. The blocks remain, and are not used any more.
 */
#ifndef MM_MERGE_ONE_H
#define MM_MERGE_ONE_H

#include "base/cleanup.h"
#include "report/ledger/ledger.h"

/* @l is settled here, and must not be merged yet. @label: NULL for none. 0; -ENOMEM. */
must_check int merge_one(struct ledger *l, const char *label);

/*
 * Put @label in front of the labels of all processes. A key that a process has already remains as it is: the
 * first one counts. 0 or -ENOMEM.
 */
must_check int merge_label(struct ledger *l, const char *label);

#endif

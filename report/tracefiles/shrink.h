/* SPDX-License-Identifier: MIT */
/*
 * shrink: a ledger as a trace: what is live, by block; all that is over, as totals. The same report comes of it.
 *
 * The facts: definitions that are still needed, the run's information, orphans (as releases, first, so that a shrunken
 * piece can be put behind another), then each place with its totals and series (MMT_PLACE), then the blocks (MMT_HELD)
 * and objects (MMT_OBJECT).
 */
#ifndef MM_SHRINK_H
#define MM_SHRINK_H

#include "base/cleanup.h"
#include "report/ledger/ledger.h"

/* Write @l to the file @path. 0 or -errno (not said). */
must_check int shrink_write(struct ledger *l, const char *path);

#endif

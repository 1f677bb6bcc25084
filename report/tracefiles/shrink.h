/* SPDX-License-Identifier: MIT */
/*
 * shrink: writes a ledger as a trace: live blocks one by one, everything that is over as totals. The report
 * from it is the same.
 *
 * The facts: definitions that are still needed, the run's information, orphans (as frees, first, so that a
 * shrunken piece can be read after another), then each place with its totals and series (MMT_PLACE), then the
 * blocks (MMT_HELD) and objects (MMT_OBJECT).
 */
#ifndef MM_SHRINK_H
#define MM_SHRINK_H

#include "base/cleanup.h"
#include "report/ledger/ledger.h"

/* Write @l to the file @path. 0 or -errno (not logged). */
must_check int shrink_write(struct ledger *l, const char *path);

#endif

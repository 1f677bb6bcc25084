/* SPDX-License-Identifier: MIT */
/* tracenames: names for the frames of a trace that has none: of files of this machine (report/names/naming.h). */
#ifndef MM_TRACENAMES_H
#define MM_TRACENAMES_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "report/ledger/ledger.h"

/* Of the frames for which @wanted[index] is true (NULL: all). 0 or -errno. */
must_check int tracenames_run(struct ledger *l, const bool *wanted, bool debuginfod);

#endif

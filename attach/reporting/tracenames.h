/* SPDX-License-Identifier: MIT */
/* tracenames: names for frames of a trace without names, from local files (report/names/naming.h). */
#ifndef MM_TRACENAMES_H
#define MM_TRACENAMES_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "report/ledger/ledger.h"

/* Name the frames for which @wanted[index] is true (NULL: all). 0 or -errno. */
must_check int tracenames_run(struct ledger *l, const bool *wanted, bool debuginfod);

#endif

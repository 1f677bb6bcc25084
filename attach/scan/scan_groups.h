/* SPDX-License-Identifier: MIT */
/*
 * scan_groups: the blocks of a scan in groups: those of one stack (if a trace knows it), else of one C++
 * class, else of one size; each with one verdict. A size that many blocks have is a group of its own; other
 * sizes are grouped by range.
 */
#ifndef MM_SCAN_GROUPS_H
#define MM_SCAN_GROUPS_H

#include "attach/scan/scan_parts.h"

/* Add the groups to the report, with what the options hide, sums and totals. 0 or -ENOMEM. */
must_check int scan_groups_add(struct scan *sc);

/* "24 bytes", "2 KiB to 4 KiB": the label of a block of this size. */
#define SCAN_SIZE_TEXT 80
const char *scan_size_label(uint64_t size, bool exact, char out[SCAN_SIZE_TEXT]);

#endif

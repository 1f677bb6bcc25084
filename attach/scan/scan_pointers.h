/* SPDX-License-Identifier: MIT */
/*
 * scan_pointers: the answers to --who-points-at: each pointer with what contains it, and how the block is
 * reached from a root, if following the pointers back finds a root soon.
 */
#ifndef MM_SCAN_POINTERS_H
#define MM_SCAN_POINTERS_H

#include "attach/scan/scan_parts.h"

/* Add to the report what points at each of @addrs. 0 or -ENOMEM. */
must_check int scan_pointers_add(struct scan *sc, const taddr *addrs, size_t n);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * recount: read the reference counts from the objects themselves once more.
 *
 * If a family's rules have an expression for where an object has its count, the count is compared at each
 * watched call. A change that no watched call makes, or that happens between the reading of the count and the
 * change by the call itself, is noticed at the object's next call; for many objects there is no next call. So
 * before a report the counts of all listed objects are read again.
 *
 * An object whose memory is gone, or contains no possible count, does not exist any more.
 */
#ifndef MM_RECOUNT_H
#define MM_RECOUNT_H

#include <stdint.h>

#include "base/cleanup.h"

struct planting;
struct recorder;

/*
 * Differences are recorded as facts. The target is not stopped; it is read through p->mem. 0; -ENOMEM; -ESRCH
 * or another -errno: it cannot be read any more.
 */
must_check int recount(struct recorder *r, const struct planting *p, uint64_t time_us);

#endif

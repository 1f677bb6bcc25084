/* SPDX-License-Identifier: MIT */
/*
 * recount: ask the objects themselves once more.
 *
 * Where a family's rules say where an object keeps its count, the count is followed from call to call. What changes it
 * without a call that is watched, or between the reading of it and the change that is to come, is seen at the object's next call;
 * for many there is none any more. So whoever makes a report has the counts of all listed objects read again first.
 *
 * An object whose memory is gone, or holds what cannot be a count, is no object any more.
 */
#ifndef MM_RECOUNT_H
#define MM_RECOUNT_H

#include <stdint.h>

#include "base/cleanup.h"

struct planting;
struct recorder;

/* What differs is put as facts. The target is not stopped; it is read through @p->mem. 0; -ENOMEM; -ESRCH and the like: it cannot be asked any more. */
must_check int recount(struct recorder *r, const struct planting *p, uint64_t time_us);

#endif

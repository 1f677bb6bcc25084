/* SPDX-License-Identifier: MIT */
/* census_take: the census of a snapshot: of each of the allocators that are known (heap/allocators.h). */
#ifndef MM_CENSUS_TAKE_H
#define MM_CENSUS_TAKE_H

#include "base/cleanup.h"
#include "heap/census.h"
#include "heap/snapshot/snapshot.h"

/* 0, whatever was found (see `known`, `unread`, `problem`); -ENOMEM: @out is empty. */
must_check int census_take(const struct snapshot *s, struct census *out);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * census_nested: arenas of an interpreter's own allocator (heap/python), which it maps itself. Data
 * there can look like a block of malloc that has a mapping of its own: in 3.10 and later, pages begin within
 * objects, and
 * the length 1 of a number with certain digits behind it is enough. Such a block is none, and without it the
 * figures of malloc agree again.
 */
#ifndef MM_CENSUS_NESTED_H
#define MM_CENSUS_NESTED_H

#include "base/cleanup.h"
#include "heap/census.h"
#include "heap/snapshot/snapshot.h"

/* Remove from @c what malloc cannot have given out. 0 or -ENOMEM. */
must_check int census_nested_drop(const struct snapshot *s, struct census *c);

#endif

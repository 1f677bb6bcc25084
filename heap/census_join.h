/* SPDX-License-Identifier: MIT */
/*
 * census_join: the censuses of two allocators of one process become one. glibc's malloc is nearly always
 * there beside another one: the dynamic loader, and what was loaded first, may have used it.
 */
#ifndef MM_CENSUS_JOIN_H
#define MM_CENSUS_JOIN_H

#include "base/cleanup.h"
#include "heap/census.h"

/*
 * Add @more, which is then empty, to @c; the arenas of @c stay first. Memory that both claim is a guess of
 * one of them: it counts in `unsure`, and of two blocks that overlap the one that begins first stays. 0 or
 * -ENOMEM: both must still be freed.
 */
must_check int census_join(struct census *c, struct census *more);

#endif

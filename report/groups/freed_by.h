/* SPDX-License-Identifier: MIT */
/*
 * freed_by: by which stacks the blocks of a group's stack were freed, if the run records that
 * (--free-stacks): where most blocks of a stack are freed, and some never, the code that frees is where to
 * look for the path that does not.
 */
#ifndef MM_FREED_BY_H
#define MM_FREED_BY_H

#include "base/cleanup.h"
#include "report/groups/stack_groups.h"
#include "report/model/summary.h"

/*
 * Set `freed` of the groups of @s that were made of @ds. All groups of a stack get the same, since its frees
 * are not divided among them. 0 or -ENOMEM.
 */
must_check int freed_by_add(const struct stack_groups *ds, struct summary *s);

#endif

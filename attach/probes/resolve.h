/* SPDX-License-Identifier: MIT */
/*
 * resolve: which function of the module a rule means, and whether it can be watched at all. For plan.c only.
 *
 * Two rules may name one function. If they apply at different moments (its entry, its end, what happens
 * inside, counting on and off), their traps do not collide, and each has its own plan. Otherwise the first
 * rule gets the function, and the plan of the second gives that as the reason; a second name for the same
 * function in the same family has no plan.
 */
#ifndef MM_RESOLVE_H
#define MM_RESOLVE_H

#include "attach/probes/plan_exits.h"

/* Append a plan for rule @i to the set, unless the module does not have its function. */
void resolve_rule(struct planning *pl, size_t i);

#endif

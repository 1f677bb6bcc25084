/* SPDX-License-Identifier: MIT */
/*
 * resolve: which function of the module a rule means, and whether it can be watched at all. For plan.c only.
 *
 * Two rules may mean one function. If they ask at different moments (its entry, its
 * end, what happens inside, counting on and off) their traps do not meet, and each has its plan. Else
 * the first has the function, and the second says so; a second name for the same thing says nothing.
 */
#ifndef MM_RESOLVE_H
#define MM_RESOLVE_H

#include "attach/probes/judge.h"

/* A plan for rule @i, at the end of the set, unless the module does not have its function. */
void resolve_rule(struct planning *pl, size_t i);

#endif

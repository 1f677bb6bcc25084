/* SPDX-License-Identifier: MIT */
/*
 * left_copies: the keeper was killed with -9. What the target has forked may have its traps: the copies that
 * the keeper had in slots and that no watch has yet, and what was forked between the keeper's death and our
 * putting back the target's own bytes. Both run on without a tracer, and die of the first trap.
 *
 * A process that the target, or a copy of it, has forked and that has not executed another program since has
 * its stack at the same address; one with a tracer is watched by another keeper, whose traps they are. A copy
 * in a slot is known by its number and time of start instead: the target may have executed another program
 * since, or the copy may have ended, and its number be another process's by now.
 */
#ifndef MM_LEFT_COPIES_H
#define MM_LEFT_COPIES_H

#include <sys/types.h>

#include "attach/keeper/shared/slots.h"

/*
 * Call @lift with the memory of each such copy of @pid; some more than once. @slots may be NULL. Takes a tenth
 * of a second: a copy whose making was under way is there only then.
 */
void left_copies_each(const struct slots *slots, pid_t keeper, pid_t pid,
		      void (*lift)(void *ctx, int mem), void *ctx);

#endif

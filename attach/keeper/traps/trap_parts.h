/* SPDX-License-Identifier: MIT */
/* trap_parts: what trap.c and trap_copy.c share, and no other file needs. */
#ifndef MM_TRAP_PARTS_H
#define MM_TRAP_PARTS_H

#include "attach/keeper/traps/trap.h"

#define INT3 0xcc

/*
 * How many traps are known: those of the table, then those that are gone and whose numbers are reused. And
 * number @i of them.
 */
uint32_t trap_known(const struct traps *ts);
const struct trap *trap_known_one(const struct traps *ts, uint32_t i);

/* Was its int3 ever written? Then it may be in a copy that was made meanwhile. */
bool trap_was_written(const struct trap *t);

/* If our int3 is at @s, write the file's byte there: 1; 0: it is not; -errno. */
must_check int trap_put_back(const struct traps *ts, int mem, const struct site *s);

/* Restore the padding, if @t's instruction was put there; no thread may be there any more. */
void trap_restore_step(int mem, const struct trap *t);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * dying: a thread that stands at the end of its process, in exit: what it still has.
 *
 * The frames of exit and of what that calls keep nothing of the program's; but they lie where the program's frames were, and where they do not write stand old words of
 * these. So do registers. What counts begins with the frame that called exit: main, or, where main has returned, what had called that.
 */
#ifndef MM_DYING_H
#define MM_DYING_H

struct modules;
struct snapshot;
struct unwinder;

/* Threads of @s in exit_group get the registers and the stack of exit's caller. Where that cannot be found they stay as they are. */
void dying_step_out(struct snapshot *s, const struct modules *ms, struct unwinder *u);

#endif

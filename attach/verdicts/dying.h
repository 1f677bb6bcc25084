/* SPDX-License-Identifier: MIT */
/*
 * dying: a thread that is stopped at the end of its process, in exit: what it still references.
 *
 * The frames of exit and of what that calls hold nothing of the program's. But they are where the program's
 * frames were, and where they write nothing there are still old words of these. The same is true of
 * registers. What counts begins with the frame that called exit: main, or, if main has returned, main's
 * caller.
 */
#ifndef MM_DYING_H
#define MM_DYING_H

struct modules;
struct snapshot;
struct unwinder;

/*
 * Give threads of @s in exit_group the registers and the stack of exit's caller. If that cannot be found,
 * they stay as they are.
 */
void dying_step_out(struct snapshot *s, const struct modules *ms, struct unwinder *u);

#endif

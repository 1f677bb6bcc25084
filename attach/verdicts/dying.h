/* SPDX-License-Identifier: MIT */
/*
 * dying: what a thread that is stopped at the end of its process, in exit, still points to.
 *
 * The frames of exit and of what that calls contain no pointers of the program's own. But they are where
 * frames of the program were before, and may contain old words of these, where they have written nothing. The
 * same is true of registers. So the stack counts from the frame that called exit: main's, or, if main has
 * returned, main's caller's. The same holds for _exit, in whose red zone such words are, and for quick_exit.
 */
#ifndef MM_DYING_H
#define MM_DYING_H

struct modules;
struct snapshot;
struct unwinder;

/*
 * Set registers and stack pointer of those threads of @s that are in exit_group to those of exit's caller. If
 * that cannot be found, they stay as they are.
 */
void dying_step_out(struct snapshot *s, const struct modules *ms, struct unwinder *u);

#endif

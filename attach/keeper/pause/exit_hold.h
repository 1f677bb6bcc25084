/* SPDX-License-Identifier: MIT */
/*
 * exit_hold: the process is held at its end, while its memory is still there, so that the controller can copy
 * it (pausing.h).
 *
 *	exit_group, or a deadly signal    each thread stops where it is about to end (PTRACE_EVENT_EXIT)
 *	all are stopped there             RECORD_ENDING
 *	COMMAND_LET_END                   all are resumed, and end
 *
 * If a thread ends while others go on (the exit call itself, and no signal), it is not held. Nor should
 * threads be held that die because another one execs, which waits for their end. But they die as at
 * exit_group(0), so they are held until a thread is seen in exec. If an exec and an exit_group race, no
 * thread is held either; nor at a death by SIGSYS, which may be one thread's.
 *
 * A thread that is killed with SIGKILL while it waits cannot be held, and ends. The wait has limits: it ends
 * if the controller gives no sign of life for shared->hold_ns, or has not finished within ENDING_NS. And when
 * the keeper ends, the kernel lets all threads go.
 */
#ifndef MM_EXIT_HOLD_H
#define MM_EXIT_HOLD_H

#include "attach/keeper/state.h"

/* @t has stopped at its end: hold it, or let it go. */
void exit_hold_serve(struct keeper *k, struct tracee *t);

/*
 * Once a round: when all threads are held at their end, the controller is notified; if they have waited for
 * too long, they are let go.
 */
void exit_hold_round(struct keeper *k);

/* Let all of them end. Returns how many were let go. */
int64_t exit_hold_let_go(struct keeper *k);

#endif

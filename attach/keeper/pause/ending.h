/* SPDX-License-Identifier: MIT */
/*
 * ending: the process held at its end, while its memory is still there, so that the controller can copy it (pausing.h).
 *
 *	exit_group, or a deadly signal    all threads stop, each where it is about to end (PTRACE_EVENT_EXIT), and wait
 *	all stand there                   RECORD_ENDING
 *	COMMAND_LET_END                   all go on, and end
 *
 * A thread that ends while others go on (the exit call itself, and no signal) is not held. Nor are those that die because another
 * execs, which waits for their end: but they die as at exit_group(0), so they stand until somebody is seen in that call. If an exec and
 * an exit_group race, nobody is held either; nor at a death by SIGSYS, which may be one thread's.
 *
 * Who is killed with SIGKILL while it waits cannot be held, and ends. The wait has limits: a controller that gives no sign of life
 * for shared->hold_ns, or has not come to an end in ENDING_NS, is not waited for. And with the keeper's own end the kernel lets
 * everybody go.
 */
#ifndef MM_ENDING_H
#define MM_ENDING_H

#include "attach/keeper/state.h"

/* @t has stopped at its end: held, or let go. */
void ending_serve(struct keeper *k, struct tracee *t);

/* Once a round, while somebody is held so: tell the controller, when all are; let go who waits for too long. */
void ending_round(struct keeper *k);

/* How many were let go. */
int64_t ending_let_go(struct keeper *k);

#endif

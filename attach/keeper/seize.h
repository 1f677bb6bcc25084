/* SPDX-License-Identifier: MIT */
/*
 * seize: become the tracer of every thread of a process, and no thread notices it.
 *
 * PTRACE_SEIZE stops no thread. What is hard is a thread that was already inside fork or clone when it was
 * seized: the kernel checked whether it was traced when the call began, so the child will not be ours; and if
 * the copy of the memory is made after we planted, the child dies of a trap. Therefore, before anything is
 * planted:
 *
 *	seize all threads, until no new one appears
 *	seize children that share the memory (a vfork under way)
 *	fence: interrupt each thread that is running or is inside fork; a thread
 *	       that sleeps elsewhere in the kernel is left alone (it would see EINTR)
 *	       and will be traced in its next fork
 *	seize again what the fence's forks have made
 */
#ifndef MM_SEIZE_H
#define MM_SEIZE_H

#include "attach/keeper/state.h"

/*
 * 0; -ESRCH no such process, or it ended meanwhile; -EPERM not allowed; -EOPNOTSUPP no kcmp; -ENOSPC more
 * threads than the table holds; -ETIMEDOUT a thread stayed inside fork. On failure the caller must leave.
 */
must_check int seize_process(struct keeper *k, pid_t pid);

#endif

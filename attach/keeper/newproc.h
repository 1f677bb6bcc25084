/* SPDX-License-Identifier: MIT */
/*
 * newproc: new threads, child processes, and exec.
 *
 * A newborn is traced from its first instruction, since its maker was. At its
 * first stop it is one of three:
 *
 *	a thread of the target		goes on, as a tracee like the others
 *	a guest				another process in the target's memory (vfork, posix_spawn):
 *					stays until it execs or ends, since our traps are in its way
 *	a stranger			a forked copy with our traps in its memory: cleaned, let go
 *
 * A copy that cannot be cleaned (no memory, no more files) stays, and it is tried again when it runs into a trap, and when we leave. Till
 * then it cannot step: what we would have to change for that are the same pages.
 *
 * Which one, the kernel is asked (tgkill, kcmp), not the maker's event: that
 * comes before or after, or never, if the maker is killed in between.
 */
#ifndef MM_NEWPROC_H
#define MM_NEWPROC_H

#include "attach/keeper/state.h"

/* Does @tid share the target's memory? */
bool newproc_shares_memory(struct keeper *k, pid_t tid);

/* @t has stopped for the first time. true: it is a tracee now (still stopped); false: it was let go, and is gone from the table. */
bool newproc_first_stop(struct keeper *k, struct tracee *t);

/*
 * @t has made another: look for the newborn at once, its SIGCHLD may have been lost in @t's. If it has not stopped
 * yet, it is entered in the table: were we to leave now, without it, a forked copy would run into the traps in its
 * memory. (If it was served already, it may be gone from it.)
 */
void newproc_expect(struct keeper *k, struct tracee *t);

enum copy_state {
	COPY_LET_GO,	/* the int3 was one of ours, and is no more: it goes on from there, and is gone from the table */
	COPY_OWN_INT3,	/* it is clean, and has an int3 of its own there */
	COPY_UNCLEAN,	/* it cannot be cleaned yet, or was killed; t->clean_next_ns: when that is tried again */
};

/* @t is a copy that could not be cleaned, and has run into an int3; @before: its registers, behind it. */
enum copy_state newproc_clean_at_trap(struct keeper *k, struct tracee *t, const struct user_regs_struct *before);

/* The copies that could not be cleaned, once more: how many still cannot. Whether they run or not. */
uint32_t newproc_clean_rest(struct keeper *k);

/* @t has exec'ed and is stopped. */
void newproc_exec(struct keeper *k, struct tracee *t);

/* Can processes be compared here at all? (kcmp; not there on few kernels) */
bool newproc_can_compare(void);

#endif

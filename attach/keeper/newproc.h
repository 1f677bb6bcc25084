/* SPDX-License-Identifier: MIT */
/*
 * newproc: new threads, child processes, and exec.
 *
 * A newborn is traced from its first instruction, since its parent was. At its first stop it is one of three:
 *
 *	a thread of the target		resumes, as a tracee like the others
 *	a guest				another process in the target's memory (vfork, posix_spawn): stays
 *					a tracee until it execs or ends, since it can run into our traps
 *	a copy				a forked process with our traps in its memory: watched on in a slot
 *					(copies.h), or cleaned and let go
 *
 * If a copy cannot be cleaned (no memory, no more files), it stays a tracee, and cleaning is tried again when
 * it runs into a trap, and when we leave. Until then it cannot step: we would have to change the same pages
 * for that.
 *
 * To find out which of them it is, the keeper asks the kernel (tgkill, kcmp). The parent's event is no help:
 * it is reported before or after that stop, or never, if the parent is killed in between.
 */
#ifndef MM_NEWPROC_H
#define MM_NEWPROC_H

#include "attach/keeper/state.h"

/* Does @tid share the target's memory? */
bool newproc_shares_memory(struct keeper *k, pid_t tid);

/*
 * @t has stopped for the first time. true: it is a tracee now (still stopped); false: it was let go, and
 * removed from the table.
 */
bool newproc_first_stop(struct keeper *k, struct tracee *t);

/*
 * @t has made another thread or process: look for it at once, since its SIGCHLD is lost if @t's was pending.
 * If it has not stopped yet, it is added to the table: if we left now without it, a forked copy would run
 * into the traps in its memory. (If it was served already, it may be gone from the table.)
 */
void newproc_expect(struct keeper *k, struct tracee *t);

/* The newborn in the table of @k, or of another state: it is a copy that is watched; or NULL. */
struct tracee *newproc_find(struct keeper *k, pid_t newborn);

enum copy_state {
	COPY_LET_GO,	/* the int3 was ours and is out: it continues there, and is gone from the table */
	COPY_OWN_INT3,	/* it is clean, and has an int3 of its own there */
	COPY_UNCLEAN,	/* it cannot be cleaned yet, or was killed; t->clean_next_ns: when to try again */
};

/*
 * @t is a copy that could not be cleaned, and has run into an int3; @before: its registers, just behind the
 * int3.
 */
enum copy_state newproc_clean_at_trap(struct keeper *k, struct tracee *t,
				      const struct user_regs_struct *before);

/* Try again to clean the copies that could not be cleaned, running or not. Returns how many still cannot. */
uint32_t newproc_clean_rest(struct keeper *k);

/* @t has exec'ed and is stopped. */
void newproc_exec(struct keeper *k, struct tracee *t);

/* Can processes be compared here at all? (kcmp; a few kernels do not have it) */
bool newproc_can_compare(void);

#endif

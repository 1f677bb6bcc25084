/* SPDX-License-Identifier: MIT */
/*
 * hit: a thread ran into a trap.
 *
 * What one hit costs, in system calls (the caller's two included):
 *
 *	sched_yield		or rt_sigtimedwait, if spinning does not pay: which thread
 *	wait4			its status; once more if it had not stopped yet
 *	PTRACE_GETREGS		where it is, arguments and result
 *	process_vm_readv	only at sites that want stack or words: all in one call, straight into the
 *				ring (remote_loads.h: more for words whose address is in memory itself)
 *	PTRACE_POKEUSER x 2	rip and rsp after a ret, rip and eflags after a test
 *	PTRACE_CONT
 *
 * If hits count only inside of certain functions (shared->scoped): process_vm_readv if one of them is open,
 * to check that it still is.
 *
 * A hit that lifts its trap (trap_rounds.h): pread and pwrite of the code before anything else, and one
 * POKEUSER for rip instead of what the emulation changes.
 *
 * With a budget, at one hit in eight and the thread's next one: open, pread and close of its schedstat
 * (stop_cost_learn.h).
 *
 * Rarely: PTRACE_GETSIGINFO at sites where a SIGTRAP from elsewhere could be mistaken for ours;
 * PTRACE_GETSIGMASK every 64th hit of a thread; a write of the eventfd when the controller sleeps;
 * process_vm_readv/writev if the displaced instruction itself accesses memory.
 */
#ifndef MM_HIT_H
#define MM_HIT_H

#include "attach/keeper/state.h"

enum hit_result {
	HIT_DONE,	/* served; the thread runs, is held, or is gone */
	HIT_NO_ROOM,	/* the ring is full: still stopped, serve it again later */
	HIT_NOT_OURS,	/* a SIGTRAP of the target's own: still stopped, deliver it */
};

/* @t is stopped with SIGTRAP. */
enum hit_result hit_serve(struct keeper *k, struct tracee *t);

/*
 * A thread that was held has its answer, or waits for it no longer: resume it, after its displaced
 * instruction if it was held at a hit.
 */
void hit_release(struct keeper *k, struct tracee *t);

/*
 * @regs of a thread whose SIGTRAP of ours will not be served: move rip back to the (lifted) trap. true if it
 * was at one.
 */
bool hit_step_back(struct keeper *k, struct tracee *t, struct user_regs_struct *regs);

/*
 * @t is stopped for another reason, but ran into a trap just before: its SIGTRAP is still queued. If the
 * thread were detached now, it would die of that signal.
 */
bool hit_on_the_way(struct keeper *k, struct tracee *t);

#endif

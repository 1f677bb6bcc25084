/* SPDX-License-Identifier: MIT */
/*
 * tracee: one thread of the target, and the only caller of ptrace requests.
 *
 *                  seize                    wait                 dispatch
 *      (nothing) ─────────▶ RUNNING ◀──────────────── resume ◀───────────┐
 *                              │ stop reported                           │
 *                              ▼                                         │
 *                           STOPPED ── served ───────────────────────────┤
 *                              │ the controller must answer              │
 *                              ├──────▶ HELD ── answered or timed out ───┘
 *                              │ group stop
 *                              └──────▶ LISTENING ── new stop ──▶ STOPPED
 *
 * Every request may find the thread gone (-ESRCH: it was sent SIGKILL, perhaps while it was stopped). That is
 * news, not an error: its exit status follows.
 */
#ifndef MM_TRACEE_H
#define MM_TRACEE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/user.h>

#include "attach/keeper/shared/site.h"

/*
 * What is known of a thread's signal mask. A trap in a thread that blocks SIGTRAP clears it from the mask,
 * and the mask before cannot be had.
 */
enum tracee_mask {
	MASK_UNKNOWN,	/* an ordinary mask, or a newborn's: checked now and then */
	MASK_FILLED,	/* all faults are blocked, but not SIGTRAP: no program does that, we cleared it */
	MASK_BLOCKS,	/* SIGTRAP was blocked when we attached: set again while the rest is unchanged */
	MASK_OPEN,	/* SIGTRAP was not blocked when we attached, but the other faults were: never set */
};

enum tracee_state { TRACEE_FREE, TRACEE_RUNNING, TRACEE_STOPPED, TRACEE_HELD, TRACEE_LISTENING };

#define NO_TRAP UINT32_MAX

#define SPARING_NS 5000000		/* after that a spared thread is interrupted (tracee_spare) */
#define SPARING_LOOK_NS 200000		/* a spared thread is checked this often */

/*
 * Wait status of a stop with nothing to deliver: a thread has it as soon as its registers were moved past a
 * hit.
 */
#define STATUS_SETTLED ((PTRACE_EVENT_STOP << 16) | (SIGTRAP << 8) | 0x7f)

struct tracee {
	pid_t tid;
	uint8_t state;		/* enum tracee_state */
	bool guest;		/* another process that shares the target's memory (vfork) */
	bool unclean;		/* a guest that is a copy, with our traps in its memory: not cleaned so far */
	uint64_t clean_next_ns;	/* when to try that again */
	bool later;		/* STOPPED, but not in the queue: served again later (wait_stops_later) */
	bool known;		/* its first stop was seen, or it was there when we attached */
	bool expected;		/* a newborn of this state's process: the forking thread's stop was seen */
	uint16_t forker;	/* its index + 1 in the table; 0: not known */
	bool stray;		/* its parent is not known: it may be a copy of any of them */
	uint8_t late;		/* how often its first stop has waited for that one */
	bool in_vfork;		/* waits for its vfork child: asleep, and past the copy */
	bool interrupted;	/* PTRACE_INTERRUPT was sent, or a first stop is awaited: not seen yet */
	bool fenced;		/* any fork that it makes is traced */
	bool awaited;		/* a pause waits for its stop */
	/* not interrupted: it moves bytes, and its call would return with fewer; or it runs */
	bool spared;
	bool slept;		/* in a pause: when it began */
	bool runs;		/* since runs_ns it ran whenever a pause checked it */
	bool stuck;		/* a pause does not wait for it: it sleeps uninterruptibly, stops on waking */
	bool exit_hold;		/* HELD at its end */
	bool stop_again;	/* resumed from a group stop to serve a hit: must stop again */
	uint8_t mask;		/* enum tracee_mask */
	uint64_t first_mask;	/* MASK_BLOCKS: the mask when we attached */
	bool active;		/* in the list of threads that hit lately */
	bool hit_pending;	/* HELD at a trap: the displaced instruction was not carried out yet */
	bool in_place;		/* stepping over a lifted trap */
	uint32_t stepping;	/* trap whose displaced instruction is being stepped, or NO_TRAP */
	/* trap whose event was emitted, but a signal kept its instruction from running; or NO_TRAP */
	uint32_t redo;
	taddr redo_sp;		/* rsp then */
	int status;		/* STOPPED: wait status, not served yet */
	uint32_t hits;
	bool has_hit;		/* ever */
	uint64_t first_hit_ns, served_ns; /* when it was first, and for how long it was stopped since (served.h) */
	struct {
		uint32_t n;
		taddr rip, sp;
	} restart;		/* how often the call there was restarted */
	uint64_t runs_ns;
	uint64_t sleeps;	/* how often it had gone to sleep by runs_ns */
	struct {
		taddr rip, sp;
		uint64_t sleeps;	/* how often it had gone to sleep at the last time */
		uint64_t ns;	/* when it was the first time */
	} undone;		/* the call there, which our interrupt has ended and which was begun again */
	uint64_t refused_ns;	/* when a call was not restarted, so that its timeout can end it */
	taddr chain_state, chain_top;	/* where its chain was found at its last hit (chain_read.h); 0: not */
	uint16_t calls;		/* innermost open call (calls.h), or NO_CALL */
	uint64_t seen_ns;	/* when the stop was seen; HELD: since when */
	uint64_t stopped_ns;	/* with a budget: since when it is stopped, as far as known (cost.h) */
	uint32_t hold;		/* HELD: number of this hold, so that a late answer ends no other one */
	bool for_stack;		/* HELD: only to have its stack unwound */
	uint64_t last_hit_ns;
	uint32_t window_hits, hits_before; /* hits in this window and the one before (fair.h), while active */
	uint64_t peers_ns;	/* how long it has waited for its peers in this window (fair.h) */
	bool waits_for_peers;	/* in the present stop */
};

/*
 * 0, -ESRCH (it vanished), -EPERM (also for a zombie, and for a thread that is ours already), or another
 * -errno. The thread does not stop.
 */
must_check int tracee_seize(pid_t tid);
/* The same; the thread, and what it makes, also stops when it is about to end (HAPPENED_ENDING). */
must_check int tracee_seize_to_end(pid_t tid);

/*
 * Does @status mean that @tid is about to end? Then let it end. For a signal handler: @tid may be in no table
 * yet.
 */
bool tracee_let_end(pid_t tid, int status);

/* Is @tid a tracee of ours (or a child), whether in the table or not? */
bool tracee_is_ours(pid_t tid);

/* The following need the thread stopped. */
must_check int tracee_cont(struct tracee *t, int sig);		/* RUNNING on success, and on -ESRCH */
must_check int tracee_listen(struct tracee *t);
must_check int tracee_step(struct tracee *t, int sig);
must_check int tracee_detach(struct tracee *t, int sig);
must_check int tracee_regs(const struct tracee *t, struct user_regs_struct *regs);
/* Write what differs between @before (what the thread has) and @after. */
must_check int tracee_set_regs(const struct tracee *t, const struct user_regs_struct *before,
			       const struct user_regs_struct *after);
/* XSTATE, at most @n bytes of it; how many, or -errno. */
must_check int tracee_vectors(const struct tracee *t, void *out, size_t n);
must_check int tracee_event_msg(const struct tracee *t, unsigned long *msg);
/* Where the signal that is being delivered came from: si_code. */
must_check int tracee_signal_code(const struct tracee *t, int *code);
/* Is signal @sig (0: any) queued for the thread or its process? @code, if not NULL: its si_code. */
bool tracee_pending(const struct tracee *t, int sig, int *code);
/*
 * If a trap cleared SIGTRAP from the thread's mask, set it again. If the mask is not known, it is read now
 * and then, or @now.
 */
void tracee_mend_mask(struct tracee *t, bool now);
/* Store @blocked, the thread's mask when we attached. */
void tracee_note_mask(struct tracee *t, uint64_t blocked);

/* This one needs the thread running. -ESRCH if it is gone. */
must_check int tracee_interrupt(struct tracee *t);

/*
 * When we attach and when we leave, each thread must be seen asleep or be interrupted once. A thread that
 * runs may be in the middle of moving bytes, between two sleeps of one call, which an interruption would cut
 * short. So each is spared for a while, in which it may be seen asleep, and then it need not be interrupted.
 * Check @t again, which has t->spared and is of process @pid; @late: its time is over, and it is interrupted
 * if it runs. true: it runs, and is still spared.
 */
bool tracee_spare(struct tracee *t, pid_t pid, bool late);

/*
 * The thread was interrupted by us and not by a signal: if that made a system call that only waits fail with
 * EINTR, have it start again. @regs in and out. Other calls may have done something (close has closed), and
 * are left alone.
 */
void tracee_restart_call(const struct tracee *t, struct user_regs_struct *regs);

/*
 * The same for a stop that our own interrupt has made, and that may be one of many (pauses): a call with a
 * timeout waits for the full time again, each time. So if it has waited long enough, as far as that is known,
 * it is ended as its timeout would end it; if its timeout is not known, it fails with EINTR after a long
 * time.
 */
void tracee_undo_interrupt(struct tracee *t, struct user_regs_struct *regs, uint64_t now_ns);

/*
 * A call with a timeout waits for the full time again when it is restarted: under a stream of ignored signals
 * it would never end. So every 16th time in a row it is not restarted, unless it waits without a timeout.
 */
bool tracee_may_restart(struct tracee *t, const struct user_regs_struct *regs, uint64_t now_ns);

/*
 * Would @sig do nothing to the thread? The kernel delivers even ignored signals to a traced thread, and they
 * interrupt its calls.
 */
bool tracee_is_ignored(const struct tracee *t, int sig);

#endif

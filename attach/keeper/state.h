/* SPDX-License-Identifier: MIT */
/*
 * state: everything the keeper knows, in one block that is allocated, touched and locked before the target is
 * seized. Nothing is allocated afterwards.
 */
#ifndef MM_STATE_H
#define MM_STATE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "attach/keeper/budget/budget.h"
#include "attach/keeper/sched/fair.h"
#include "attach/keeper/sched/placement.h"
#include "attach/keeper/shared/shared.h"
#include "attach/keeper/shared/slots.h"
#include "attach/keeper/threads.h"
#include "attach/keeper/traps/calls.h"
#include "attach/keeper/traps/chain_pages.h"
#include "attach/keeper/traps/remote_loads.h"
#include "attach/keeper/traps/trap.h"
#include "base/stall_timer.h"

#define SEEN_BLOCKS 4096u

/* Asking again before sleeping (wait_stops.c, spin), as long as that pays. */
struct spin {
	uint32_t score;			/* how often it found a stopped thread, of 1024 */
	uint32_t skipped;		/* chances not used, as the score is low */
	uint64_t ban_ns, banned_until_ns; /* how long the present or next ban is; when it ends */
};

/* When the stops that are found now began. */
struct began {
	uint64_t asked_ns;		/* when all threads were asked last */
	uint64_t found_ns;		/* at the earliest; */
	uint64_t likely_ns;		/* ... and most likely */
};

/* Wait statuses collected by a signal handler while PTRACE_SEIZE waits. */
struct reaped {
	uint32_t n;
	struct {
		pid_t tid;
		int status;
	} all[THREADS_MAX];
};

/* Of the held threads, those that are stopped at their end (exit_hold.h). */
struct exit_hold {
	uint32_t threads;
	bool reported;			/* RECORD_ENDING is written; or no more threads are held */
	bool sure;			/* the process ends: threads do not die because another one execs */
	uint64_t next_look_ns;		/* when a thread that execs is looked for next */
	uint64_t alive, alive_ns;	/* the controller's last sign of life, and when it was seen */
};

/* Does the controller read the ring? */
struct reader {
	uint64_t stall_since_ns;	/* since when the ring is full; 0: it is not */
	uint64_t drop_since_ns;		/* since when hits are dropped; 0: they are not */
	struct stall_timer unread;		/* since when events are unread and the tail has not moved */
	uint64_t last_tail, last_alive;
	/* with a budget: unread for so long that no trap with rounds is planted */
	bool silent;
	bool bell_rung;			/* for the ring being a quarter full now */
};

/* The stack of the hit that is being recorded, if gdb has unwound it (relay.h). */
struct walked {
	const uint64_t *frames;
	uint32_t n;			/* 0: gdb has not unwound it */
};

/* All threads are stopped, so that memory can be copied (pausing.h). */
struct pausing {
	bool on;
	uint32_t number;
	uint64_t began_ns, until_ns;
	uint64_t spared_ns;		/* since when only spared threads still run; 0: not yet */
};

struct slot;

struct keeper {
	struct shared *shared;
	/*
	 * A keeper has a state for its first target, and one for each copy that it watches in a slot
	 * (copies.h). What is there once for the process, as timers and spinning, is in the first.
	 */
	struct keeper *first;		/* NULL: it is the first */
	struct keeper *copies[SLOTS];	/* of the first; those of them that are in use, */
	uint32_t ncopies, most_copies;
	struct keeper *rooms;		/* and the memory for all SLOTS, and one more for a table of traps */
	struct slot *slot;		/* of a copy */
	pid_t adopter;			/* of a copy: its watch; 0: none yet */
	int adopter_fd;			/* and its pidfd */
	bool gone;			/* it has left; the process goes on with the others */
	uint64_t left_ns, retry_ns;	/* leaving alone: since when; when threads are interrupted again */
	pid_t target;			/* 0: nothing seized yet */
	int mem;			/* /proc/TARGET/mem, or -1 */
	int read_mem; /* hits read memory through this one, as in struct remote_loads_from; -1 */
	bool watching;			/* every thread is seized */
	int last_status;		/* wait status of the last thread that ended */
	pid_t controller;		/* our parent, as long as it lives */
	uint64_t next_parent_ns;	/* when we check for it next */
	sigset_t signals;		/* what sigtimedwait waits for */
	uint64_t now_ns;		/* of this round */
	uint64_t next_scan_ns;		/* when all threads are asked next */
	uint32_t nqueue;		/* stopped threads, in the order they are served */
	uint32_t held;			/* held threads: they wait for an answer, */
	uint64_t next_overdue_ns;	/* and when the first of them is released without one */
	uint32_t holds;			/* numbers given to holds; 0 is none */
	struct exit_hold exit_hold;
	uint32_t others;		/* tracees that are not threads of the target */
	struct reader reader;
	bool settled;			/* no thread is stopped unseen: the next stop raises SIGCHLD */
	bool ticking;			/* the timer runs */
	timer_t timer;
	struct began began;
	uint32_t found;			/* stops collected by the present scan */
	uint64_t last_found_ns;
	uint64_t next_signal_ns;	/* under load: when signals are checked next */
	struct spin spin;
	struct placement placement;
	struct fair fair;
	struct pausing pausing;
	/* when the first thread of wait_stops_later is served again; 0: there is none */
	uint64_t later_ns;
	uint32_t nnew;			/* queued threads that were found while others were served */
	uint32_t nwaiting;		/* queued threads that wait for their peers, not for ring space */
	struct walked walked;
	/* blocks that were allocated lately, each where its address leads to; 0: none (traps/hit_record.c) */
	taddr seen[SEEN_BLOCKS];
	bool has_scopes;		/* what is counted begins or ends at sites */
	bool chained;			/* shared->chained, read once for each hit, */
	struct chain_plan chain;	/* and our copy of shared->chain */
	struct chain_pages chain_pages;
	bool leaving;			/* traps are lifted: nothing is recorded from now on */
	uint32_t news;			/* enum wait_news, not handled yet */
	uint32_t leave_reason;		/* to leave at the end of this round; 0: stay */
	/*
	 * there is a budget, and it is charged for the time that threads are stopped: stops are found at
	 * once, and no thread waits for its peers or for space in the ring
	 */
	bool paid;
	/* with a budget: only the thread that a signal named was asked so far */
	bool unasked;
	struct budget budget;
	struct traps traps;
	struct calls calls;
	struct threads threads;
	uint32_t queue[THREADS_MAX];
	struct reaped reaped;
	/*
	 * Of the first: the stop that the kernel has told us last, until it is in a table (si_pid 0): no second
	 * call tells it. If the keeper crashes just then, the code that leaves finds it here.
	 */
	siginfo_t taken;
};

static inline uint64_t keeper_clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static inline struct keeper *keeper_first(struct keeper *k)
{
	return k->first ? k->first : k;
}

/*
 * All states of this process: for (s = keeper_first(k), i = 0; s; s = keeper_next(s, &i)). Those that are
 * gone are skipped by their users.
 */
static inline struct keeper *keeper_next(struct keeper *k, uint32_t *i)
{
	struct keeper *first = keeper_first(k);

	return *i < first->ncopies ? first->copies[(*i)++] : NULL;
}

/* Does a controller answer? A copy has none before its watch has begun: no thread of it is held. */
static inline bool keeper_is_answered(const struct keeper *k)
{
	return !k->slot || k->adopter;
}

static inline struct remote_loads_from keeper_memory(const struct keeper *k, const struct tracee *t)
{
	return (struct remote_loads_from){ t->tid, k->read_mem };
}

#endif

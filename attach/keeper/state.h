/* SPDX-License-Identifier: MIT */
/*
 * state: everything the keeper knows, in one block that is allocated, touched
 * and locked before the target is. Nothing is allocated afterwards.
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
#include "attach/keeper/threads.h"
#include "attach/keeper/traps/calls.h"
#include "attach/keeper/traps/loads.h"
#include "attach/keeper/traps/trap.h"
#include "base/patience.h"

/* Looking again before sleeping (collect.c), while it pays. */
struct spin {
	uint32_t score;			/* how often it found somebody, of 1024 */
	uint32_t skipped;
	uint64_t ban_ns, banned_until_ns;
};

/* When the stops that are found now began. */
struct began {
	uint64_t asked_ns;		/* everybody was asked last */
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

/* Of the held threads, those that stand at their end (ending.h). */
struct ending {
	uint32_t threads;
	bool told;			/* the controller knows that all do; or no thread is held any more */
	bool sure;			/* the process ends: they do not die for another that execs */
	uint64_t next_look_ns;		/* when such a one is looked for next */
	uint64_t alive, alive_ns;	/* the controller's sign of life then, or since, and when that was */
};

/* Does the controller read what the ring has? */
struct reader {
	uint64_t stall_since_ns;	/* the ring is full since; 0: it is not */
	uint64_t drop_since_ns;		/* hits are dropped since; 0: they are not */
	struct patience unread;		/* events unread and tail where it was since */
	uint64_t last_tail, last_alive;
	bool unheard;			/* with a budget: for so long that no trap stands until mmattach reads again */
	bool bell_rung;			/* for the present quarter-full */
};

/* The stack of the hit that is being noted, where gdb has walked it (relay.h). */
struct walked {
	const uint64_t *frames;
	uint32_t n;			/* 0: it has not */
};

/* All threads stand, so that memory can be copied (pausing.h). */
struct pausing {
	bool on;
	uint32_t number;
	uint64_t began_ns, until_ns;
	uint64_t spared_ns;		/* since when only those are left that were spared; 0: not yet */
};

struct keeper {
	struct shared *shared;
	pid_t target;			/* 0: nothing seized yet */
	int mem;			/* /proc/TARGET/mem, or -1 */
	int read_mem;			/* what hits read goes through this one, as in struct loads_from; -1 */
	bool watching;			/* every thread is seized */
	int last_status;		/* wait status of the thread that ended last */
	pid_t controller;		/* our parent, as long as it lives */
	uint64_t next_parent_ns;	/* when we look for it next */
	sigset_t signals;		/* what sigtimedwait waits for */
	uint64_t now_ns;		/* of this round */
	uint64_t next_scan_ns;		/* when all threads are asked next */
	uint32_t nqueue;		/* stopped threads, in the order they are served */
	uint32_t held;			/* threads that wait for an answer, */
	uint64_t next_overdue_ns;	/* and until when the first of them does */
	uint32_t holds;			/* numbers given to holds; 0 is none */
	struct ending ending;
	uint32_t others;		/* tracees that are not threads of the target */
	struct reader reader;
	bool settled;			/* nobody is stopped unseen: the next stop raises SIGCHLD */
	bool ticking;			/* the timer runs */
	timer_t timer;
	struct began began;
	uint32_t found;			/* stops collected by the present scan */
	uint64_t last_found_ns;
	uint64_t next_signal_ns;	/* under load: when signals are looked at next */
	struct spin spin;
	struct placement placement;
	struct fair fair;
	struct pausing pausing;
	uint64_t later_ns;		/* when the first of those that stay stopped (collect_later) is served again; 0: none */
	uint32_t nkept;			/* of the queue: threads that wait for their peers, not for room in the ring */
	struct walked walked;
	bool leaving;			/* traps are lifted: nothing is recorded any more */
	uint32_t news;			/* enum collect_news, not dealt with yet */
	uint32_t leave_reason;		/* to leave at the end of this round; 0: stay */
	bool paid;			/* with a budget the time that threads stand is paid for: they are found at once, and none waits for its peers or for room */
	bool unasked;			/* then: only the thread that a signal has named was asked, not yet the others */
	struct budget budget;
	struct traps traps;
	struct calls calls;
	struct threads threads;
	uint32_t queue[THREADS_MAX];
	struct reaped reaped;
};

static inline uint64_t keeper_clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static inline struct loads_from keeper_memory(const struct keeper *k, const struct tracee *t)
{
	return (struct loads_from){ t->tid, k->read_mem };
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * shared: the one mapping between controller and keeper.
 *
 * A ring of events out, a mailbox of one command in, counters to look at, and
 * the sites as the controller planned them. Made by the controller before it
 * forks the keeper, so both have it at the same address.
 *
 * Commands: the controller fills the mailbox, raises seq, and signals the
 * keeper; the keeper carries the command out, writes the result, and sets
 * done = seq. While it waits, the controller goes on reading the ring.
 */
#ifndef MM_SHARED_H
#define MM_SHARED_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "attach/keeper/budget/meter.h"
#include "attach/keeper/shared/event.h"
#include "attach/keeper/shared/ring.h"
#include "attach/keeper/shared/site.h"

#define SHARED_SITES 4096
#define SHARED_RING (16u << 20)
#define SHARED_THREADS 32768u
#define SLICE_MAX 131072u

#define KEEPER_MAIL SIGUSR1	/* there is a command */
#define KEEPER_TICK SIGALRM	/* the keeper's own timer */
#define KEEPER_REAP SIGVTALRM	/* the keeper's own: PTRACE_SEIZE takes long */
#define KEEPER_ORPHAN SIGUSR2	/* the controller is gone (PR_SET_PDEATHSIG) */

enum command_op {
	COMMAND_NONE,
	COMMAND_SEIZE,		/* arg: pid. Take every thread; result 0 or -errno */
	COMMAND_PLANT,		/* arg: first site, arg2: how many; results per site in plant_result; result: number planted */
	COMMAND_FORGET,		/* arg, arg2: sites whose memory is unmapped: never touched again */
	COMMAND_RELEASE,	/* arg: tid that is held, arg2: which hold; -ESRCH if that is over */
	COMMAND_LEAD,		/* the same, but first a metered site, arg2's upper half, has its round. 1: its trap stands; 0: it cannot now */
	COMMAND_TAKE_OVER,	/* a debugger has let go, nothing is planted: be the tracer from now on (relay.h) */
	COMMAND_STOP_ALL,	/* arg: ns after which it ends by itself. Every thread (pausing.h), the first of them into pause.batch; result: how many could not be stopped */
	COMMAND_NEXT_STOPPED,	/* arg: pause.next of the last answer: more of them into pause.batch; result: how many */
	COMMAND_RESUME_ALL,	/* 0; -ETIMEDOUT: it has ended by itself before; -ESRCH: another program runs now */
	COMMAND_LET_END,	/* the process that stands at its end may end (ending.h). How many threads were waiting */
	COMMAND_LEAVE,		/* lift, detach, exit: no answer but the keeper's end */
};

#define LEAVE_REASONS(X) \
	X(LEFT_NOT, "still there") \
	X(LEFT_ASKED, "asked to") \
	X(LEFT_ENDED, "the target ended") \
	X(LEFT_ORPHAN, "mmattach was gone") \
	X(LEFT_SILENT, "mmattach did not read events") \
	X(LEFT_TERM, "asked to by a signal") \
	X(LEFT_SIGTRAP, "the target began to handle SIGTRAP itself") \
	X(LEFT_DENIED, "the target's memory may not be read any more") \
	X(LEFT_CRASH, "it crashed") \
	X(LEFT_THREADS, "more threads than it can hold") \
	X(LEFT_DEBUGGER, "gdb went away") \
	X(LEFT_BUDGET, "staying attached cost more than the budget")
enum leave_reason {
#define X(name, text) name,
	LEAVE_REASONS(X)
#undef X
	LEAVE_REASONS_END
};
const char *leave_reason_text(enum leave_reason r);

/* Of shared.end.uncleaned. */
#define UNCLEANED_TEXT "%u threads of forked processes were let go with traps that could not be taken out: SIGTRAP awaits them there"

/* A thread of a pause. Without any of these it could not be stopped, and may have run. */
enum paused_flags {
	PAUSED_KNOWN = 1 << 0,	/* it stands, registers are filled in */
	PAUSED_ASLEEP = 1 << 1,	/* it could not be stopped, but sleeps in the kernel, and will stop before it runs again */
};

/* While the others stand, one that runs is asked again and again (pausing.h): */
#define PAUSING_RUNS_NS 1000000	/* if it runs for so long without a pause, it is taken to do nothing else */
#define PAUSING_MET_NS 20000000	/* or if it is met running each time, for so long */
#define PAUSE_BATCH 512
#define PAUSE_VECTORS 2688	/* XSTATE up to the end of AVX-512's registers; what is behind (tiles) holds no pointers */

struct paused_thread {
	pid_t tid;
	uint32_t flags;			/* enum paused_flags */
	uint32_t nvectors;		/* bytes of XSTATE; 0: not to be had */
	uint32_t unused;
	struct user_regs_struct regs;
	uint8_t vectors[PAUSE_VECTORS];
};

/* What the keeper has counted. */
struct shared_counts {
	_Atomic uint64_t stops;		/* of any kind */
	_Atomic uint64_t dropped;	/* hits lost because the ring was full */
	_Atomic uint64_t unrecorded;	/* records other than hits lost for the same reason */
	_Atomic uint64_t stalls;	/* times that a thread had to wait for room in the ring */
	_Atomic uint64_t stall_ns;	/* for how long, together */
	_Atomic uint64_t served_ns;	/* from seeing a stop to resuming, summed over stops; */
	_Atomic uint64_t hit_served_ns;	/* of this, that of threads that have ever hit a trap */
	_Atomic uint32_t have_hit;	/* so many threads have; */
	_Atomic uint32_t hitting;	/* so many of them are there now */
	_Atomic uint64_t unopened;	/* calls not followed: nesting too deep or the pool empty */
	_Atomic uint64_t overdue;	/* held threads that went on without an answer */
	_Atomic uint64_t unwalked;	/* the same, held only for their stack */
	_Atomic uint64_t stepped;	/* steps in place: other threads may have run past the trap meanwhile */
};

/* How it has left. */
struct shared_end {
	_Atomic uint32_t left;		/* enum leave_reason, when it has */
	_Atomic uint64_t at_ns;		/* CLOCK_MONOTONIC when the traps were lifted */
	_Atomic uint64_t blind_ns;	/* since when nothing was recorded: at_ns, or earlier if hits were dropped */
	_Atomic uint32_t late;		/* a thread that was waited for in vain when we came (its state then: */
	_Atomic uint32_t late_state;	/* as ps shows it), or 0 */
	_Atomic uint32_t unlifted;	/* traps that could not be lifted */
	_Atomic uint32_t uncleaned;	/* threads of copies of the memory, let go with traps that could not be taken out */
};

/* With a budget (budget.h). */
struct shared_budget {
	_Atomic uint64_t spent_ns;	/* how long threads were stopped, together, stopping and going on included */
	_Atomic uint64_t meters_ns;	/* what a stop for a metered trap costs, of late */
	_Atomic uint64_t held_ns;	/* of spent_ns: of threads that the controller let wait */
	_Atomic uint32_t worst_ten_ppm;	/* of the worst ten seconds so far */
	_Atomic uint32_t closed;	/* how often all metered traps were lifted, as nothing was left to spend */
	_Atomic uint64_t closed_ns;	/* for how long, together, up to the last opening; */
	_Atomic uint64_t closed_since_ns; /* and again since then (CLOCK_MONOTONIC), 0: it is open */
	_Atomic uint32_t open;		/* they may stand now */
};

/* The dynamic linker says that modules come or go: until the controller has looked at them, nothing is planted anew. */
struct shared_modules {
	_Atomic uint32_t told;		/* how often it has said so */
	_Atomic uint32_t seen;		/* of these, up to which the controller has looked */
	_Atomic uint64_t ns;		/* for how long nothing was planted, together, up to the last time; */
	_Atomic uint64_t since_ns;	/* and again since then, 0: it is over */
};

/* The pause under way, or had last. */
struct shared_pause {
	_Atomic uint32_t number;	/* while all threads are stopped; 0: none is under way. Memory is copied only while it is the same */
	_Atomic uint64_t began_ns, ended_ns;	/* the first was asked to stop; the last was let go */
	uint32_t count, next;		/* what a stop has put into the batch; where to go on, 0: nowhere */
	struct paused_thread batch[PAUSE_BATCH];
};

struct shared {
	/* set before the fork */
	uint32_t slice_bytes;		/* the most of a stack that is copied at a hit that wants it */
	uint64_t max_stall_ns;		/* how long a thread waits for room in the ring */
	uint64_t silence_ns;		/* the controller reads nothing for so long: the target is let go */
	uint64_t hold_ns;		/* how long a held thread waits for its answer */
	bool hold_end;			/* the process is held at its end, for somebody wants to look at its memory (ending.h) */
	bool lose_sigtrap;		/* the target's own handling of SIGTRAP may be lost */
	bool scoped;			/* what happens outside of functions of SITE_FAMILY_IN does not count */
	uint32_t budget_ppm;		/* how long threads may stand stopped, together, of any ten seconds; 10000 = 1 %. 0: as long as it takes */
	int bell;			/* eventfd: keeper to controller */
	int gdb, gdb_mem;		/* gdb is the tracer: the socket to it, and the target's memory; -1: it is not (relay.h) */

	/* mailbox */
	_Atomic uint32_t seq, done;
	uint32_t op;
	int64_t arg, arg2, result;
	int plant_result[SHARED_SITES];	/* 0, or -errno: -EILSEQ the bytes differ, -ETXTBSY the code is mapped shared */

	/* the controller's sign of life while it is busy with other things than the ring */
	_Atomic uint64_t alive;

	/*
	 * What the controller has learned of each thread's stack, by its place in the keeper's table: bytes to copy in the
	 * lower half, and in the upper one the thread's tid: the place may be another thread's by now.
	 */
	_Atomic uint64_t slice_hint[SHARED_THREADS];
	/* Which hold a thread is in, by its place; 0: none. Changed by the keeper: who reads a held thread's memory looks afterwards. */
	_Atomic uint32_t hold[SHARED_THREADS];

	/* the keeper's counters */
	_Atomic uint64_t beat;		/* rounds: it is alive */
	_Atomic uint32_t threads;	/* now */
	struct shared_counts counts;
	struct shared_end end;
	struct shared_budget budget;
	struct shared_modules modules;
	struct shared_pause pause;

	struct site sites[SHARED_SITES];
	struct meter meters[SHARED_SITES];
	struct ring ring;
	uint8_t ring_bytes[SHARED_RING];
};

/* Does the thread still stand where it was hit? Asked after its memory was read, too: it goes on if nobody answers in time. */
static inline bool shared_is_held(const struct shared *sh, const struct record_hit *hit)
{
	return hit->head.flags & RECORD_HELD && atomic_load(&sh->hold[hit->thread % SHARED_THREADS]) == hit->head.value;
}

/* Modules come or go, and nothing is planted until the controller has looked at them (metering.h). */
static inline bool shared_modules_move(const struct shared *sh)
{
	return atomic_load(&sh->modules.told) != atomic_load(&sh->modules.seen);
}

#endif

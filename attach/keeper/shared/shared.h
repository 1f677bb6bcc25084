/* SPDX-License-Identifier: MIT */
/*
 * shared: the one mapping between controller and keeper.
 *
 * A ring of events from the keeper, a mailbox of one command to it, its counters, and the sites as the
 * controller planned them. Made by the controller before it forks the keeper, so both have it at the same
 * address.
 *
 * Commands: the controller fills the mailbox, increments seq, and signals the keeper; the keeper carries the
 * command out, writes the result, and sets done = seq. While it waits, the controller keeps reading the ring.
 */
#ifndef MM_SHARED_H
#define MM_SHARED_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "attach/keeper/budget/site_stats.h"
#include "attach/keeper/shared/chain.h"
#include "attach/keeper/shared/event.h"
#include "attach/keeper/shared/refused_returns.h"
#include "attach/keeper/shared/ring.h"
#include "attach/keeper/shared/site.h"

#define SHARED_SITES 4096
#define SHARED_RING (16u << 20)
#define SHARED_RING_SMALL (4u << 20)	/* of each of many watches: the mapping ends there */
#define SHARED_THREADS 32768u
#define SLICE_MAX 131072u

#define KEEPER_MAIL SIGUSR1	/* there is a command */
#define KEEPER_TICK SIGALRM	/* the keeper's own timer */
#define KEEPER_REAP SIGVTALRM	/* the keeper's own: PTRACE_SEIZE takes long */
#define KEEPER_ORPHAN SIGUSR2	/* the controller is gone (PR_SET_PDEATHSIG) */

enum command_op {
	COMMAND_NONE,
	COMMAND_SEIZE,		/* arg: pid. Seize every thread; result 0 or -errno */
	COMMAND_PLANT,		/* arg: first site, arg2: how many; fills plant_result; result: planted */
	COMMAND_FORGET,		/* arg, arg2: sites whose memory is unmapped: not touched again */
	/*
	 * arg, arg2: sites that the kernel takes over (link_lift); a thread that is held at one stays so, and
	 * runs its instruction when the keeper leaves. Result: how many could not be lifted
	 */
	COMMAND_LIFT,
	COMMAND_RELEASE,	/* arg: tid that is held, arg2: which hold; -ESRCH if that is over */
	/*
	 * the same, but first a round of another site (arg2's upper half) begins. 1: its trap is planted; 0:
	 * it cannot be now
	 */
	COMMAND_LEAD,
	COMMAND_TAKE_OVER,	/* a debugger has detached, nothing is planted: trace from now on (relay.h) */
	/*
	 * stop every thread (pausing.h); arg: ns after which the pause ends by itself. The first threads go
	 * into pause.batch; result: how many could not be stopped
	 */
	COMMAND_STOP_ALL,
	COMMAND_NEXT_STOPPED,	/* arg: pause.next of the last answer. More into pause.batch; result: count */
	COMMAND_RESUME_ALL,	/* 0; -ETIMEDOUT: it has ended by itself; -ESRCH: another program runs now */
	COMMAND_LET_END,	/* the process held at its end may end (exit_hold.h); result: threads held */
	/*
	 * of a slot (slots.h): a watch, process arg, has begun. Its sites have the numbers 0 to arg2 - 1; the
	 * traps that are at their addresses get these, and plant_result 0; the others are lifted, and
	 * forgotten. 0; -EAGAIN: a thread steps just now
	 */
	COMMAND_ADOPT,
	COMMAND_SHARE,		/* arg: ppm of the time that stops may take from now on (budget_share) */
	COMMAND_NOTE,		/* arg: ns that the controller has cost threads, by other means */
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
	X(LEFT_BUDGET, "staying attached cost more than the budget") \
	X(LEFT_UNWANTED, "it was not to be watched")
enum leave_reason {
#define X(name, text) name,
	LEAVE_REASONS(X)
#undef X
	LEAVE_REASONS_END
};
const char *leave_reason_text(enum leave_reason r);

/* Of shared.end.uncleaned. */
#define UNCLEANED_TEXT                                                                                       \
	"%u threads of forked processes were let go with traps that could not be taken out: SIGTRAP awaits " \
	"them there"

/* A thread of a pause. Without any of these flags it could not be stopped, and may have run. */
enum paused_flags {
	PAUSED_KNOWN = 1 << 0,	/* it is stopped, registers are filled in */
	PAUSED_ASLEEP = 1 << 1,	/* not stopped, but sleeps in the kernel; will stop before it runs again */
};

/* While the others are stopped, a thread that runs is checked again and again (pausing.h): */
#define PAUSING_RUNS_NS 1000000	/* if it runs for so long without sleeping, it is assumed to do only that */
#define PAUSING_MET_NS 20000000	/* or if it was running at each check, for so long */
#define PAUSE_BATCH 512
#define PAUSE_VECTORS 2688	/* XSTATE up to AVX-512's registers; what follows (tiles) has no pointers */

struct paused_thread {
	pid_t tid;
	uint32_t flags;			/* enum paused_flags */
	uint32_t nvectors;		/* bytes of XSTATE; 0: could not be read */
	uint32_t unused;
	struct user_regs_struct regs;
	uint8_t vectors[PAUSE_VECTORS];
};

/* The thread that the watch has cost most time so far, since its first hit; tid 0: none. */
struct shared_worst {
	_Atomic uint64_t ns;		/* stopped; with the kernel's probes, what these took at least */
	_Atomic uint64_t since_ns;	/* CLOCK_MONOTONIC, of its first hit */
	_Atomic uint64_t last_ns;	/* and of its last one so far */
	_Atomic uint32_t tid;
};

/* What the keeper has counted. */
struct shared_counts {
	_Atomic uint64_t stops;		/* of any kind */
	_Atomic uint64_t dropped;	/* hits lost because the ring was full */
	_Atomic uint64_t unrecorded;	/* records other than hits lost for the same reason */
	_Atomic uint64_t stalls;	/* times that a thread had to wait for space in the ring */
	_Atomic uint64_t stall_ns;	/* for how long, in sum */
	_Atomic uint64_t served_ns;	/* from seeing a stop to resuming, summed over stops; */
	_Atomic uint64_t hit_served_ns;	/* of this: of threads that have ever hit a trap */
	struct shared_worst worst;
	_Atomic uint64_t probed_ns;	/* what the kernel's probes took at least, of all threads */
	_Atomic uint32_t have_hit;	/* number of threads that have hit */
	_Atomic uint32_t hitting;	/* how many of them exist now */
	_Atomic uint64_t unopened;	/* calls not followed: nesting too deep or the pool empty */
	_Atomic uint64_t unreturned;	/* calls that end where no trap could be planted */
	_Atomic uint64_t unaccounted;	/* hits in the kernel without a record or a counted loss (uprobe.h) */
	_Atomic uint64_t overdue;	/* held threads that were resumed without an answer */
	_Atomic uint64_t unwalked;	/* the same, if held only for their stack */
	_Atomic uint64_t sharers;	/* processes in the target's memory, whose calls were not seen */
	_Atomic uint64_t stepped;	/* steps in place: other threads may have passed the trap meanwhile */
};

/* How the keeper has left. */
struct shared_end {
	_Atomic uint32_t left;		/* enum leave_reason, when it has */
	_Atomic uint32_t stays;		/* then the keeper has not ended: it has other processes to serve */
	_Atomic uint64_t at_ns;		/* CLOCK_MONOTONIC when the traps were lifted */
	_Atomic uint64_t blind_ns;	/* nothing recorded since: at_ns, or earlier if hits were dropped */
	_Atomic uint32_t late;		/* a thread that did not stop in time when we attached, or 0; */
	_Atomic uint32_t late_state;	/* its state then, as ps shows it */
	_Atomic uint32_t unlifted;	/* traps that could not be lifted */
	_Atomic uint32_t uncleaned;	/* threads of copies, let go with traps that could not be taken out */
};

/* With a budget (budget.h). */
struct shared_budget {
	_Atomic uint64_t spent_ns;	/* sum of all stops of threads, including stopping and resuming */
	_Atomic uint64_t trap_stop_ns;	/* what a stop at a trap with rounds costs at present */
	_Atomic uint64_t held_ns;	/* of spent_ns: threads that waited for the controller */
	_Atomic uint32_t worst_ten_ppm;	/* of the worst ten seconds so far */
	_Atomic uint64_t room_ns;	/* what the last ten seconds leave of it for a pause */
	/*
	 * By the controller: what a pause costs a thread that sleeps when it begins, in millionths of it, on
	 * average; 0: that is not known, and all of it counts (attach/snapshot/awake.h).
	 */
	_Atomic uint32_t asleep_ppm;
	_Atomic uint32_t closed;	/* how often all of these were lifted: nothing was left to spend */
	_Atomic uint64_t closed_ns;	/* for how long, in sum, up to the last opening; */
	_Atomic uint64_t closed_since_ns; /* and again since then (CLOCK_MONOTONIC), 0: it is open */
	_Atomic uint32_t open;		/* they may be planted now */
};

/*
 * The dynamic linker reports that modules come or go: until the controller has looked at them, no trap is
 * newly planted.
 */
struct shared_modules {
	_Atomic uint32_t reported;		/* how often it has reported that */
	_Atomic uint32_t seen;		/* up to which of these the controller has looked */
	_Atomic uint64_t ns;		/* for how long nothing was planted, in sum, up to the last time; */
	_Atomic uint64_t since_ns;	/* and again since then, 0: it is over */
};

/* The present pause, or the last one. */
struct shared_pause {
	/* of this pause; 0: there is none. Memory is copied only as long as it is the same */
	_Atomic uint32_t number;
	_Atomic uint64_t began_ns, ended_ns;	/* the first thread was interrupted; the last was resumed */
	uint32_t count, next;		/* how many are in the batch; where to go on, 0: that was all */
	struct paused_thread batch[PAUSE_BATCH];
};

/* What the controller has learned of a thread's stacks (attach/stacks/slice_size.h). */
struct slice_hint {
	/*
	 * How many bytes of a stack that does not end at @end are copied, or 0: as many as allowed. The upper
	 * half is the thread's tid: the index may be another thread's by now, of which nothing is known.
	 */
	_Atomic uint64_t bytes;
	_Atomic uint64_t end;	/* where stacks of the thread end, or 0; stored before @bytes */
};

struct slots;

struct shared {
	/* set before the fork */
	uint32_t slice_bytes;		/* the most stack that is copied at a hit that wants it */
	uint64_t max_stall_ns;		/* how long a thread waits for space in the ring */
	uint64_t silence_ns;		/* the controller reads nothing for so long: the target is let go */
	uint64_t hold_ns;		/* how long a held thread waits for its answer */
	bool hold_end;			/* hold the process at its end, to copy its memory (exit_hold.h) */
	bool one_of_many;		/* other processes are watched at the same time */
	bool sampled;			/* of the calls only a sample by bytes is recorded: in the kernel */
	/* the target's parent was watched, too, by the second engine: uprobe_files.h */
	bool inherits;
	bool lose_sigtrap;		/* the target's own handling of SIGTRAP may be lost */
	bool scoped;			/* hits outside of functions of SITE_FAMILY_IN do not count */
	/* how long threads may be stopped, in sum, in any ten seconds; 10000 = 1 %. 0: no limit */
	uint32_t budget_ppm;
	int bell;			/* eventfd: keeper to controller */
	struct slots *slots;		/* for what the target forks; NULL: that is let go */
	/* gdb is the tracer: the socket to it, and the target's memory; -1: it is not (relay.h) */
	int gdb, gdb_mem;

	/* mailbox */
	_Atomic uint32_t seq, done;
	uint32_t op;
	int64_t arg, arg2, result;
	int plant_result[SHARED_SITES];	/* 0, or -errno: -EILSEQ: the bytes differ; -ETXTBSY: mapped shared */

	/*
	 * set once by the controller, before `chained`; then hits with a slice carry the thread's chain, too
	 */
	struct chain_plan chain;
	_Atomic bool chained;

	/* the controller's sign of life while it is busy with other things than the ring */
	_Atomic uint64_t alive;

	struct slice_hint slice_hints[SHARED_THREADS];	/* by the thread's index in the keeper's table */
	/*
	 * Which hold a thread is in, by its index; 0: none. Changed by the keeper: code that reads a held
	 * thread's memory checks it afterwards.
	 */
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
	struct refused_returns refused_returns;
	struct site_stats meters[SHARED_SITES];
	struct ring ring;
	uint8_t ring_bytes[SHARED_RING];
};

/*
 * Is the thread still held at its hit? Check it also after its memory was read: the thread resumes if it gets
 * no answer in time.
 */
static inline bool shared_is_held(const struct shared *sh, const struct record_hit *hit)
{
	return hit->head.flags & RECORD_HELD &&
	       atomic_load(&sh->hold[hit->thread % SHARED_THREADS]) == hit->head.value;
}

/* How much of its stack is copied at a hit of thread @tid, whose index is @i. */
static inline uint32_t shared_slice(const struct shared *sh, uint32_t i, uint32_t tid, uint64_t rsp)
{
	const struct slice_hint *h = &sh->slice_hints[i];
	const uint64_t bytes = atomic_load_explicit(&h->bytes, memory_order_acquire);
	const uint64_t up_to_end = atomic_load_explicit(&h->end, memory_order_relaxed) - rsp;
	uint32_t n = sh->slice_bytes;

	if (bytes >> 32 != tid)
		return n;
	if (up_to_end <= n)
		return (uint32_t)up_to_end;
	return (uint32_t)bytes && (uint32_t)bytes < n ? (uint32_t)bytes : n;
}

/* Modules come or go, and nothing is planted until the controller has looked at them (trap_rounds.h). */
static inline bool shared_modules_move(const struct shared *sh)
{
	return atomic_load(&sh->modules.reported) != atomic_load(&sh->modules.seen);
}

#endif

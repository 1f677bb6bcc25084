/* SPDX-License-Identifier: MIT */
/*
 * watch: read the ring until the watch ends, and answer the threads that are held.
 *
 * The controller sleeps until the keeper rings the doorbell. While there are events, it reads them every
 * millisecond instead of being woken for each; when there are no more, it sets ring->sleeping, and the keeper
 * rings for the next one.
 */
#ifndef MM_WATCH_H
#define MM_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/watch/watch_cost.h"
#include "attach/watch/watch_line.h"
#include "base/stall_timer.h"

struct backtrace;
struct link;
struct modules;
struct planting;
struct sampling;
struct tally;

enum watch_end {
	WATCH_GOES_ON,
	WATCH_TIME,		/* -d is over */
	WATCH_SIGNAL,		/* Ctrl-C, SIGTERM, SIGHUP */
	WATCH_TARGET_ENDED,
	WATCH_EXEC,		/* the target runs another program now */
	WATCH_KEEPER_LEFT,	/* the keeper left on its own: shared->end.left says why */
	WATCH_KEEPER_KILLED,	/* it was killed, with its traps planted */
	WATCH_MEMORY,		/* out of memory */
	WATCH_ASKED,		/* gdb's user has ended it */
	WATCH_TRACE,		/* the trace cannot be written, and the user has chosen to end then */
};

/* A time in which hits were dropped. CLOCK_MONOTONIC. */
struct watch_gap {
	uint64_t start_ns, end_ns;
	const char *why;	/* static */
};

#define WATCH_GAPS 64

struct watch {
	struct link *link;
	struct modules *modules;
	struct planting *planting;
	struct tally *tally;
	struct sampling *sampling;	/* with a budget: it gets the hits, not the tally. NULL: no budget */
	struct backtrace *backtrace;
	pid_t pid;
	int signals;			/* signalfd of the signals that end the watch, and SIGUSR1 */
	bool report_now;		/* after SIGUSR1: the next tick makes an interim report */
	bool awaiting_exec;		/* start mode: the first exec is the beginning, not the end */
	bool started;			/* that exec has happened */
	struct watch_line line;		/* on the terminal */
	struct watch_cost cost;
	uint64_t start_ns, end_ns;	/* end_ns 0: no limit */
	int target_status;		/* WATCH_TARGET_ENDED: wait status of its last thread */
	uint64_t unfollowed;		/* how often the modules could not be read when they changed */
	int unfollowed_error;		/* why, the first time */
	bool return_lost;		/* that a call's end cannot be seen was logged */
	int64_t sharers;		/* processes that run in the target's memory now, unseen (RECORD_SHARERS) */
	bool ends_unseen;		/* calls were left out whose end is not seen (RECORD_LOST) */
	/* with the kernel's probes: how often functions of a module were found after it was loaded, and how long after */
	uint64_t late_modules, late_ns;
	uint64_t exec_ns;		/* the same, in start mode: when the program was exec'ed */
	uint64_t children;		/* forked, cleaned of traps, detached */
	uint64_t due_ns;		/* when something of `sampling` is due; 0: nothing */
	uint32_t modules_reported;	/* with `sampling`: how often the linker has reported so far, */
	struct stall_timer linker;		/* timeout for it to be done since then, */
	uint64_t next_modules_ns;	/* and when the modules may be read again */
	/* the last value of the keeper's counter `beat`, and when it was seen */
	uint64_t beat, beat_ns;
	struct stall_timer silence;	/* timeout for the next one */
	uint64_t troubles;		/* errors that the keeper has reported */
	struct watch_gap gaps[WATCH_GAPS];
	size_t ngaps;			/* further ones are added to the last */
	/*
	 * Thread time up to counted_ns (CLOCK_MONOTONIC; 0: not begun), from the number of threads at each
	 * tick: of all threads; of those that have hit a trap.
	 */
	uint64_t thread_ns, hitting_ns, counted_ns;
	uint32_t threads, hitting;			/* the numbers at counted_ns */
	/* Start mode: the program is loaded and its traps are planted, and it has not run yet. */
	void (*begin)(void *ctx);
	void *begin_ctx;
	/* Called every quarter of a second. If it returns anything but WATCH_GOES_ON, the watch ends. */
	enum watch_end (*tick)(void *ctx, uint64_t now_ns);
	void *tick_ctx;
	/* Called at each turn of the loop; NULL: none. Returns when it is to be called again, at the latest. */
	uint64_t (*turn)(void *ctx, uint64_t now_ns);
	uint64_t turn_ns;		/* that */
	/* The target is stopped at its end, its memory still there; it ends when this returns. */
	void (*ending)(void *ctx);
	void *ending_ctx;
	/*
	 * If gdb is the tracer: its user has a request (@control is readable; -1: none); gdb follows another
	 * process now.
	 */
	int control;
	void (*asked)(void *ctx);
	void (*moved)(void *ctx, pid_t pid);
	void *gdb_ctx;
	bool followed;			/* new children get watches of their own */
	bool closed;			/* further records are not part of the watch any more */
	enum watch_end end;
};

/* Add up thread_ns and hitting_ns until now. */
void watch_count_threads(struct watch *w, uint64_t now_ns);

/* Read events until the watch ends; w->end is the reason. */
void watch_run(struct watch *w);

/* In start mode: run until the program's exec has been handled, or has failed. */
void watch_until_started(struct watch *w);

/* Record that nothing was seen from @start_ns to @end_ns. */
void watch_add_gap(struct watch *w, uint64_t start_ns, uint64_t end_ns, const char *why);

/* Handle all that is in the ring. */
void watch_drain(struct watch *w);
/* Handle what was in it when its head was @head. */
void watch_drain_until(struct watch *w, uint64_t head);

#endif

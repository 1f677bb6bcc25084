/* SPDX-License-Identifier: MIT */
/*
 * watch: read the ring until the watch ends, and answer the threads that wait.
 *
 * The controller sleeps on the keeper's doorbell. While events flow it looks
 * every millisecond instead of being woken for each; when they stop, it says
 * that it sleeps (ring->sleeping) and the next event rings.
 */
#ifndef MM_WATCH_H
#define MM_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/patience.h"

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
	WATCH_KEEPER_LEFT,	/* the keeper left of itself: shared->end.left says why */
	WATCH_KEEPER_KILLED,	/* it was killed, and its traps stood */
	WATCH_MEMORY,		/* out of memory */
	WATCH_ASKED,		/* gdb's user has ended it */
	WATCH_TRACE,		/* the trace cannot be written, and the user wants to end then */
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
	struct sampling *sampling;	/* with a budget: hits are for it, not for the tally. NULL: there is none */
	struct backtrace *backtrace;
	pid_t pid;
	int signals;			/* signalfd of what ends the watch, and of SIGUSR1, */
	bool report_now;		/* which asks the next tick for an interim report */
	bool awaiting_exec;		/* start mode: the first exec is the beginning, not the end */
	bool started;			/* it has come */
	bool progress;			/* show a line on the terminal */
	uint64_t start_ns, end_ns;	/* end_ns 0: no limit */
	int target_status;		/* WATCH_TARGET_ENDED: wait status of its last thread */
	uint64_t unfollowed;		/* times that the modules could not be looked at when they changed; */
	int unfollowed_error;		/* the first time for this reason */
	uint64_t children;		/* forked, cleaned, let go */
	uint64_t due_ns;		/* something of `sampling` is due then; 0: nothing */
	uint32_t modules_told;		/* with `sampling`: so often the linker has called, */
	struct patience linker;		/* and it was waited for since; */
	uint64_t next_modules_ns;	/* they are not looked through again before then */
	uint64_t beat, beat_ns;		/* the keeper's last sign of life that we saw, and when; */
	struct patience silence;	/* and it was waited for since */
	uint64_t troubles;		/* what went wrong in the keeper, already said */
	struct watch_gap gaps[WATCH_GAPS];
	size_t ngaps;			/* those beyond the array are added to its last */
	/* The time that threads have had so far, added up by what is there at each tick; of these, of threads that have hit a trap. */
	uint64_t thread_ns, hitting_ns, counted_ns;	/* up to counted_ns (CLOCK_MONOTONIC; 0: not begun), */
	uint32_t threads, hitting;			/* when there were so many */
	/* Start mode: the program is there and trapped, and has not run yet. */
	void (*begin)(void *ctx);
	void *begin_ctx;
	/* Called every quarter of a second; not WATCH_GOES_ON: it ends. */
	enum watch_end (*tick)(void *ctx, uint64_t now_ns);
	void *tick_ctx;
	/* The target stands at its end, its memory still there; it ends when this returns. */
	void (*ending)(void *ctx);
	void *ending_ctx;
	/* gdb is the tracer: its user wants something (@control, or -1); it has gone on with another process. */
	int control;
	void (*asked)(void *ctx);
	void (*moved)(void *ctx, pid_t pid);
	void *gdb_ctx;
	bool closed;			/* what comes from now on is no part of the watch any more */
	enum watch_end end;
};

/* Add up thread_ns and hitting_ns until now. */
void watch_count_threads(struct watch *w, uint64_t now_ns);

/* Read events until the watch ends; why is in w->end. */
void watch_run(struct watch *w);

/* In start mode: until the program's exec has been dealt with, or failed. */
void watch_until_started(struct watch *w);

/* From @start_ns to @end_ns nothing was seen. */
void watch_add_gap(struct watch *w, uint64_t start_ns, uint64_t end_ns, const char *why);

/* What is in the ring by now. */
void watch_drain(struct watch *w);
/* What was in it when its head was @head. */
void watch_drain_until(struct watch *w, uint64_t head);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * recorder: where the facts of a live watch go: to the ledger, from which the
 * report is made, and to the trace file if there is one. Both get the same, so the report of the watch
 * and that of the trace are the same.
 *
 * A trace that cannot be written further (the disk is full) is given up: that is said once, it becomes a note of the report,
 * and the watch goes on, or ends, as the user chose. What was written stays readable.
 */
#ifndef MM_RECORDER_H
#define MM_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "report/ledger/ledger.h"
#include "trace/writer.h"

struct recorder_trace {
	const char *path;	/* the caller's */
	uint64_t rotate_bytes;	/* 0: one file */
	bool raw;		/* no names into it */
	bool alone;		/* no report is made but of it */
};

struct recorder {
	struct ledger ledger;
	struct writer *trace;	/* NULL: none, or given up */
	struct recorder_trace wanted;	/* path NULL: none */
	int trace_error;	/* why it was given up; 0: it was not */
	bool out_of_memory;	/* the ledger is not whole any more */
	bool begun;
	uint32_t piece;		/* of the trace: 1, 2, ...; 0: it is in one */
	uint64_t start_ns;	/* CLOCK_MONOTONIC: times of facts count from here */
};

must_check int recorder_init(struct recorder *r);	/* 0 or -ENOMEM */
void recorder_fini(struct recorder *r);			/* a trace that is still open is closed as it is */

/*
 * There is to be a trace. Before anything is touched: can it be written? It is created when the run begins, so that
 * a watch that does not come about leaves an older file of that name as it is. 0 or -errno (said).
 */
must_check int recorder_want_trace(struct recorder *r, const struct recorder_trace *trace);

/* The run begins at @start_ns: @run and @target are facts about it, and stand at the head of each piece. */
void recorder_begin(struct recorder *r, uint64_t start_ns, const struct fact *run, const struct fact *target);

/* Time since the start; 0 for what was before. */
uint64_t recorder_time(const struct recorder *r, uint64_t now_ns);

/* Its time is set by the caller. */
void recorder_put(struct recorder *r, const struct fact *f);

/* The same of an event of family @family (its number, and its index). */
void recorder_put_event(struct recorder *r, uint32_t family, const struct fact *f);

/* Numbers that go up: put only if they have changed. */
void recorder_count(struct recorder *r, uint64_t time_us, uint32_t which, uint64_t value);
void recorder_lost(struct recorder *r, uint64_t time_us, const char *reason, uint64_t count);
void recorder_note(struct recorder *r, uint64_t time_us, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* For a copy of the process: go on in a file @path of its own, which begins as the trace does. 0 or -errno (said). */
must_check int recorder_move(struct recorder *r, const char *path);

/* Time goes on: what waits is written. */
void recorder_tick(struct recorder *r, uint64_t time_us);

/* All is put: names into the pieces, the file closed. 0, or -errno of the trace (said). */
must_check int recorder_end(struct recorder *r);

#endif

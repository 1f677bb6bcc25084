/* SPDX-License-Identifier: MIT */
/*
 * recorder: takes the facts of a live watch: to the ledger, from which the report is made, and to the trace
 * file if there is one. Both get the same facts, so the report of the watch and that of the trace are the
 * same.
 *
 * If a trace cannot be written further (the disk is full), it is abandoned: that is logged once, and noted in
 * the report, and the watch continues or ends, as the user chose. What was written stays readable.
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
	bool raw;		/* without names */
	bool alone;		/* the watch makes no report: there is only the trace */
};

struct recorder {
	struct ledger ledger;
	struct writer *trace;	/* NULL: none, or abandoned */
	struct recorder_trace wanted;	/* path NULL: none */
	int trace_error;	/* why it was abandoned; 0: it was not */
	bool out_of_memory;	/* the ledger is incomplete */
	bool begun;
	uint32_t piece;		/* of the trace: 1, 2, ...; 0: it is not rotated */
	uint64_t start_ns;	/* CLOCK_MONOTONIC: times of facts count from here */
};

must_check int recorder_init(struct recorder *r);	/* 0 or -ENOMEM */
void recorder_fini(struct recorder *r);			/* closes a trace that is still open, as it is */

/*
 * Ask for a trace, and check that it can be written, before the target is touched. The file is created when
 * the run begins, so that a watch that fails to start leaves an older file of that name alone. 0 or -errno
 * (logged).
 */
must_check int recorder_want_trace(struct recorder *r, const struct recorder_trace *trace);

/* The run begins at @start_ns: @run and @target are facts about it, and are at the head of each piece. */
void recorder_begin(struct recorder *r, uint64_t start_ns, const struct fact *run, const struct fact *target);

/* Time since the start; 0 if @now_ns is before it. */
uint64_t recorder_time(const struct recorder *r, uint64_t now_ns);

/* Add a fact; the caller has set its time. */
void recorder_put(struct recorder *r, const struct fact *f);

/* The same for an event of family @family (its number, which is also its index). */
void recorder_put_event(struct recorder *r, uint32_t family, const struct fact *f);

/* Counts that only grow: recorded only if they have changed. */
void recorder_count(struct recorder *r, uint64_t time_us, uint32_t which, uint64_t value);
void recorder_lost(struct recorder *r, uint64_t time_us, const char *reason, uint64_t count);
void recorder_note(struct recorder *r, uint64_t time_us, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * For a copy of this process: go on in its own file @path, which begins as the trace. 0 or -errno (logged).
 */
must_check int recorder_move(struct recorder *r, const char *path);

/* Called as time passes: writes what is due. */
void recorder_tick(struct recorder *r, uint64_t time_us);

/*
 * All facts were added: write names into the pieces and close the file. 0, or -errno of the trace (logged).
 */
must_check int recorder_end(struct recorder *r);

#endif

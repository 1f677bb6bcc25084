/* SPDX-License-Identifier: MIT */
/*
 * session_record: what a watch records besides its events, and how that record is completed: at the end, or
 * in a copy of ourselves.
 */
#ifndef MM_SESSION_RECORD_H
#define MM_SESSION_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/watch/watch.h"
#include "base/cleanup.h"

struct session;

/*
 * Open the record, and a trace if the options ask for one. 0 or -errno (logged). Call session_record_close in
 * any case.
 */
must_check int session_record_open(struct session *s);
void session_record_close(struct session *s);

/* Record the numbers and lists that grow with time. */
void session_record_tick(struct session *s, uint64_t now_ns);

/*
 * WATCH_GOES_ON, unless the ledger is out of memory, or the trace cannot be written and the user has chosen
 * to end then.
 */
enum watch_end session_record_may_go_on(const struct session *s);

/*
 * Read from the objects how many references they have. A target that has exec'ed or ended has none to read.
 */
void session_record_objects(struct session *s, uint64_t now_ns);

/* At the end: a runtime that was not started before, or of which it is not known. */
void session_record_runtime(struct session *s, uint64_t now_ns);

/*
 * Record which allocator is used, and the runtime that runs. Not before the dynamic linker of a new program is done: at the first tick,
 * or in a shorter watch at its end.
 */
void session_record_allocator(struct session *s, uint64_t now_ns);

/* Look up the names of the frames that the report shows, or of @all. 0 or -errno. */
must_check int session_record_names(struct session *s, bool all);

/* The same for the metrics: in files of this machine only, whatever --debuginfod says. */
must_check int session_record_names_here(struct session *s);

/*
 * Add all that the trace and the report still need: names, the end. 0 or -errno (logged); @trace: the same
 * for writing the trace.
 */
must_check int session_record_end(struct session *s, int *trace);

/*
 * Save a whole trace of the watch so far as @path, while the watch continues: a copy of ourselves does it,
 * and then calls @done with 0 or -errno (logged). 0, or -errno if there is no copy.
 */
must_check int session_record_save(struct session *s, const char *path,
				   void (*done)(struct session *s, int r));

#endif

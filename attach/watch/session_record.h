/* SPDX-License-Identifier: MIT */
/* session_record: what a watch records besides its events, and how that record becomes whole: at the end, or in a copy of ourselves. */
#ifndef MM_SESSION_RECORD_H
#define MM_SESSION_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/watch/watch.h"
#include "base/cleanup.h"

struct session;

/* There is to be one, and a trace if the options say so. 0 or -errno (said). session_record_close in any case. */
must_check int session_record_open(struct session *s);
void session_record_close(struct session *s);

/* Numbers and lists that go up with time. */
void session_record_tick(struct session *s, uint64_t now_ns);

/* Unless memory is short, or the trace cannot be written and the user wants to end then. */
enum watch_end session_record_may_go_on(const struct session *s);

/* The objects know best how many references they have. One that has exec'ed or ended has none that we could ask. */
void session_record_objects(struct session *s, uint64_t now_ns);

/* Not before the linker of a new program has looked around: at the first tick, or in a shorter watch at its end. */
void session_record_allocator(struct session *s, uint64_t now_ns);

/* Names of the frames that the report shows, or of @all. 0 or -errno. */
must_check int session_record_names(struct session *s, bool all);

/* All that the trace and the report need: names, the end. 0 or -errno (said); @trace: the same, of writing it. */
must_check int session_record_end(struct session *s, int *trace);

/*
 * A whole trace of the watch so far, under @path, while it goes on: made by a copy of ourselves, which calls
 * @done with 0 or -errno (said) when it has. 0, or -errno if there is no copy.
 */
must_check int session_record_save(struct session *s, const char *path, void (*done)(struct session *s, int r));

#endif

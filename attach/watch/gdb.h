/* SPDX-License-Identifier: MIT */
/*
 * gdb: a watch in which gdb is the tracer (`mmattach gdb`, started by gdbscripts/mmleak.py): the requests of
 * its user.
 *
 *	gdb, Python ──hits──▶ keeper/relay ──ring──▶ controller
 *	            ──requests, each with one answer──▶  (this file)
 *
 * A request is a text datagram on the control socket: a number, a word and its arguments. So is the answer:
 * the number, "ok" or "error", and details. Answers may be sent in a different order: a copy of ourselves
 * saves the trace, and gdb's user may not wait for it.
 *
 *	status			lines "KEY VALUE"
 *	save PATH		a whole trace of the watch so far
 *	end			gdb has lifted its breakpoints: the trace is completed, and the
 *				answer is our last message
 *	quit			the same, but the trace is not wanted
 *	hand-over NS [DURATION]	gdb has detached from the target, with nothing planted since NS
 *				(CLOCK_MONOTONIC): continue without gdb
 */
#ifndef MM_GDB_H
#define MM_GDB_H

struct session;

/* gdb's breakpoints are set: report that, and listen. */
void gdb_begin(struct session *s);

/*
 * The watch is over, and the trace is complete, or could not be completed (@r): send the last answer, if one
 * is awaited.
 */
void gdb_end(struct session *s, int r);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * gdb: a watch in which gdb is the tracer (`mmattach gdb`, started by gdbscripts/mmleak.py): what its user wants of us.
 *
 *	gdb, Python ──hits──▶ keeper/relay ──ring──▶ controller
 *	            ──requests, each with one answer──▶  (this file)
 *
 * A request is a datagram of text on the control socket: a number, a word and what belongs to it. So is the answer: the number,
 * "ok" or "error", and what there is to say. Answers may come in another order: who saves is a copy of ourselves, and gdb's user may
 * not wait for it.
 *
 *	status			lines "KEY VALUE"
 *	save PATH		a whole trace of the watch so far
 *	end			gdb has lifted its breakpoints: the trace is made whole, and the answer is our last word
 *	quit			the same, but nobody wants the trace
 *	hand-over NS [DURATION]	gdb has let the target go, with nothing planted since NS (CLOCK_MONOTONIC): go on without it
 */
#ifndef MM_GDB_H
#define MM_GDB_H

struct session;

/* Its breakpoints stand: say so, and listen. */
void gdb_begin(struct session *s);

/* The watch is over, the trace is whole, or could not be made so (@r): our last word, if one is awaited. */
void gdb_end(struct session *s, int r);

#endif

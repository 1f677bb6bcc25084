/* SPDX-License-Identifier: MIT */
/*
 * pausing: every thread stopped once, its registers handed out, and all let go as they were found.
 *
 *	pausing_stop    interrupts everybody, sleepers too, since a sleeper's registers may hold the only pointer to a
 *	                block, and waits until all stand, newborns among them
 *	pausing_next    registers, a batch at a time
 *	pausing_end     serves all stops, which lets the threads go
 *
 * A pause is nothing but stops that are collected and not served. So what comes together with it needs no care of its own: a hit,
 * a signal, a birth, a group stop is in the queue as ever, and served afterwards as ever; a call that our
 * interrupt has ended starts again (tracee_undo_interrupt); and whatever makes the keeper leave finds threads that
 * are stopped, which leave.c knows how to settle.
 *
 * Not stopped are threads that sleep where nothing interrupts (state D; the parent of a vfork): they cannot run before they have stopped,
 * but their registers are not to be had. Nor are those stopped that sleep in the middle of moving bytes (a large write, recv with MSG_WAITALL): they
 * would be told that they have moved fewer, and many a program takes that for an error. Such a one may wake and run while all others stand; that is
 * said. One that runs, and does not stop, is a failure.
 */
#ifndef MM_PAUSING_H
#define MM_PAUSING_H

#include "attach/keeper/state.h"

/*
 * Stop everybody; after @limit_ns at most, counted from now, they are let go by pausing_round; at once, if the controller is stopped. How many could not be stopped;
 * -ESRCH: nothing is seized, it has ended, or it has exec'ed; -EBUSY: there is a pause already; -ETIMEDOUT: not all have stopped within
 * the limit; -ECANCELED: the keeper is to leave. On failure nobody is stopped any more.
 */
int64_t pausing_stop(struct keeper *k, uint64_t limit_ns);

/* Fill shared->pause.batch with the next threads, from place @from of the table on (shared->pause.next). How many; -ETIMEDOUT: the pause is over. */
int64_t pausing_next(struct keeper *k, uint32_t from);

/* Let everybody go. 0; -ETIMEDOUT: that has happened before; -ESRCH: another program runs now. */
int64_t pausing_end(struct keeper *k);

/* A round of the keeper's loop while everybody stands. */
void pausing_round(struct keeper *k, uint64_t max_wait_ns);

#endif

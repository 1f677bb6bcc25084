/* SPDX-License-Identifier: MIT */
/*
 * pausing: every thread is stopped once, its registers are read, and all are resumed as they were found.
 *
 *	pausing_stop    interrupts all threads, also those that sleep, since their registers may hold the only
 *	                pointer to a block, and waits until all are stopped, newborns among them
 *	pausing_next    registers, a batch at a time
 *	pausing_end     serves all stops, which lets the threads go
 *
 * A pause is nothing but stops that are queued and not served. So events that coincide with it need no
 * special care: a hit, a signal, a birth, a group stop is in the queue as always, and served afterwards as
 * always; a call that our interrupt has ended starts again (tracee_undo_interrupt); and if the keeper must
 * leave, it finds stopped threads, as always.
 *
 * Threads that sleep uninterruptibly (state D; the parent of a vfork) are not stopped: they cannot run before
 * they have stopped, but their registers cannot be read. Nor are threads stopped that sleep in the middle of
 * moving bytes (a large write, recv with MSG_WAITALL): the call would return with fewer bytes moved, and many
 * programs take that for an error. Such a thread may wake and run while all others are stopped: it is counted
 * and reported. If a thread runs, and does not stop, the pause fails.
 */
#ifndef MM_PAUSING_H
#define MM_PAUSING_H

#include "attach/keeper/state.h"

/*
 * Stop all threads. After at most @limit_ns, counted from now, pausing_round resumes them; at once, if the
 * controller is stopped. Returns how many could not be stopped; -ESRCH: nothing is seized, the target has
 * ended, or it has exec'ed; -EBUSY: there is a pause already; -ETIMEDOUT: not all have stopped within the
 * limit; -ECANCELED: the keeper is to leave. On failure no thread is stopped any more.
 */
int64_t pausing_stop(struct keeper *k, uint64_t limit_ns);

/*
 * Fill shared->pause.batch with the next threads, from index @from of the table on (shared->pause.next).
 * Returns how many; -ETIMEDOUT: the pause is over.
 */
int64_t pausing_next(struct keeper *k, uint32_t from);

/* Resume all threads. 0; -ETIMEDOUT: they were resumed before; -ESRCH: another program runs now. */
int64_t pausing_end(struct keeper *k);

/* A round of the keeper's loop while all threads are stopped. */
void pausing_round(struct keeper *k, uint64_t max_wait_ns);

/* The same for one of several processes, after waiting. */
void pausing_look(struct keeper *k);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * wait_stops: find the threads that have stopped, and wait for them if there are none.
 *
 * SIGCHLD's si_pid says which thread stopped, not waitpid(-1): its cost grows with the number of threads (129
 * us a hit with 3000 idle ones), and it starves the older threads. SIGCHLD does not queue: if a thread stops
 * while another thread's SIGCHLD is pending, its stop is not announced. So the threads that hit lately are
 * asked one by one (waitpid) before anything else, and all threads on a tick of a few milliseconds, until a
 * tick finds no stop: then all is settled, the next stop raises SIGCHLD, and the keeper sleeps.
 *
 * With a budget (budget.h) there are few stops, and each may cost little: then all threads are asked after
 * each SIGCHLD, and no thread waits for a tick.
 */
#ifndef MM_WAIT_STOPS_H
#define MM_WAIT_STOPS_H

#include "attach/keeper/state.h"

/* What signals other than SIGCHLD report. */
enum wait_news { NEWS_MAIL = 1, NEWS_ORPHAN = 2, NEWS_TERM = 4 };

/*
 * Put the threads that have stopped into k->queue; wait at most @max_wait_ns for one. Returns enum
 * wait_news, or'ed.
 */
must_check int wait_stops(struct keeper *k, uint64_t max_wait_ns);

/*
 * Wait for a signal, at most @max_wait_ns, and ask the thread that it names: for a time in which hardly any
 * thread stops. Returns as wait_stops.
 */
must_check int wait_stops_quietly(struct keeper *k, uint64_t max_wait_ns);

/* Ask all threads. */
void wait_stops_everyone(struct keeper *k);

/*
 * A thread may have stopped unseen: ask all threads every few milliseconds, until all is quiet; with a budget at once.
 */
void wait_stops_unsettle(struct keeper *k);

/* Has @tid stopped, or ended? If so it is in the queue now. */
bool wait_stops_ask(struct keeper *k, pid_t tid);

/*
 * The keeper leaves, perhaps as it has crashed: enters a stop that the kernel has told it, and that is in no table
 * yet. Traps must be lifted before: this may be what it has crashed at.
 */
void wait_stops_left_over(struct keeper *k);

/* A wait status that other code got from the kernel. */
void wait_stops_status(struct keeper *k, pid_t tid, int status);

/* @t, which is being served, stays stopped; it is queued again at @at_ns, or as soon as it is killed. */
void wait_stops_later(struct keeper *k, struct tracee *t, uint64_t at_ns);

#endif

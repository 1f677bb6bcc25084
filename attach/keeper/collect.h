/* SPDX-License-Identifier: MIT */
/*
 * collect: find the threads that have stopped, and wait for them if there are none.
 *
 * Which thread stopped is told by SIGCHLD's si_pid, not by waitpid(-1), whose
 * cost grows with the number of threads (129 us a hit with 3000 idle ones) and
 * which starves the older threads. SIGCHLD does not queue: a thread that stops
 * while another's is pending goes unannounced. So the threads that hit lately
 * are asked one by one before anything else, and everybody on a tick of a few
 * milliseconds, until a tick finds nobody: then all is settled, the next stop
 * raises SIGCHLD, and the keeper sleeps.
 *
 * With a budget (budget.h) there are few stops, and each may cost little: then
 * everybody is asked after each SIGCHLD, and nobody waits for a tick.
 */
#ifndef MM_COLLECT_H
#define MM_COLLECT_H

#include "attach/keeper/state.h"

/* What other signals brought. */
enum collect_news { NEWS_MAIL = 1, NEWS_ORPHAN = 2, NEWS_TERM = 4 };

/* Put who has stopped into k->queue, waiting at most @max_wait_ns for it. What else came: enum collect_news, or'ed. */
must_check int collect(struct keeper *k, uint64_t max_wait_ns);

/* Wait for a signal, at most @max_wait_ns, and ask the thread that it names: for a time in which hardly anything happens. As collect. */
must_check int collect_quietly(struct keeper *k, uint64_t max_wait_ns);

/* Everybody is asked. */
void collect_everyone(struct keeper *k);

/* Somebody may have stopped unseen: everyone is asked every few milliseconds, until all is quiet. */
void collect_unsettle(struct keeper *k);

/* Has @tid stopped, or ended? If so it is in the queue now. */
bool collect_ask(struct keeper *k, pid_t tid);

/* A wait status that somebody else has taken from the kernel. */
void collect_status(struct keeper *k, pid_t tid, int status);

/* @t, which is served, stays stopped and comes into the queue again at @at_ns; or as soon as it is killed. */
void collect_later(struct keeper *k, struct tracee *t, uint64_t at_ns);

#endif

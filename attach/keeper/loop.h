/* SPDX-License-Identifier: MIT */
/*
 * loop: one round of the keeper: wait, collect every thread that has stopped,
 * serve each of them once.
 *
 * Which thread stopped is told by SIGCHLD's si_pid, not by waitpid(-1), whose
 * cost grows with the number of threads (129 us a hit with 3000 idle ones) and
 * which starves the older threads. SIGCHLD does not queue: a thread that stops
 * while another's is pending goes unannounced. So the threads that hit lately
 * are asked one by one before anything else, and everybody on a tick of a few
 * milliseconds, until a tick finds nobody: then all is settled, the next stop
 * raises SIGCHLD, and the keeper sleeps.
 */
#ifndef MM_LOOP_H
#define MM_LOOP_H

#include "attach/keeper/state.h"

/* What other signals brought. */
enum loop_news { NEWS_MAIL = 1, NEWS_ORPHAN = 2, NEWS_TERM = 4 };

/*
 * One round, waiting at most @max_wait_ns. What other signals brought is or'ed into k->news (whoever runs
 * rounds, the main loop must learn of it); k->leave_reason is set if the keeper must leave.
 */
void loop_round(struct keeper *k, uint64_t max_wait_ns);

/* A wait status that somebody else collected: served in the next round. */
void loop_take(struct keeper *k, pid_t tid, int status);

#endif

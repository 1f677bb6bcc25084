/* SPDX-License-Identifier: MIT */
/*
 * loop: one round of the keeper: wait, find every thread that has stopped, serve each of them once, check the
 * limits.
 *
 * All are found before any is served: a thread that is served while the others are still being looked for
 * stops again first, and the others starve.
 */
#ifndef MM_LOOP_H
#define MM_LOOP_H

#include "attach/keeper/state.h"

/*
 * One round, waiting at most @max_wait_ns. What signals other than SIGCHLD report is or'ed into k->news, for
 * the main loop, whichever code runs the round. k->leave_reason is set if the keeper must leave.
 */
void loop_round(struct keeper *k, uint64_t max_wait_ns);

/*
 * If events are unread, and neither the tail nor the sign of life has moved for silence_ns, the controller is
 * stopped, hangs, or gets no processor, and we must leave. With a budget, all traps with rounds are lifted
 * until it reads again, and we leave only after 40 times as long.
 */
void loop_watch_reader(struct keeper *k);

#endif

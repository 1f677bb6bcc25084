/* SPDX-License-Identifier: MIT */
/*
 * sched_priority: the keeper gets a processor soon when it wakes, since stopped threads wait for it. Each of
 * these measures helps, none is needed: what is not allowed, or not known to the kernel, is left out.
 *
 *	nice value	a larger share of the processors. Not a real-time priority: with the lowest one the
 *			keeper was served sooner on a busy machine (a quarter more hits for the same
 *			budget), but on an idle one its stops took 1.09 % by the victim's own clock where
 *			0.83 was reported; without it 0.86
 *	slice		the shortest that can be asked for. From Linux 6.12 on, a thread that wakes with a
 *			shorter slice than the running thread has, and that has not had more than its share,
 *			need not wait until that thread's slice is over. No privilege is needed for that. It
 *			matters where the nice value does not: in the target's own session, or without
 *			autogroups. Beside 32 busy threads on two processors the keeper waited for 1.3 to 2.0
 *			s of 12 without it, 0.2 s with it
 *	policy		if mmattach was started as idle or batch, the target's threads would wait for a keeper
 *			that runs only after all other threads
 */
#ifndef MM_SCHED_PRIORITY_H
#define MM_SCHED_PRIORITY_H

void sched_priority_ask(void);

/* The same share for a child that plays the part of a thread of the target (stop_cost_calibrate.h). */
void sched_priority_ask_for_share(void);

#endif

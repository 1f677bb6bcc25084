/* SPDX-License-Identifier: MIT */
/*
 * prompt: the keeper gets a processor soon when it wakes, for whoever stands waits for it, too. Each of these is a help, none a need: what is not allowed, or not
 * known to the kernel, is done without.
 *
 *	nice value	a larger share of the processors
 *	turns		the shortest that can be asked for. From Linux 6.12 on whoever wakes with a shorter turn than that of who runs, and has not had
 *			more than its share, need not wait until that one is over. No privilege is needed for that
 *	policy		where mmattach was started as idle or batch, the target's threads would wait for one that everybody else goes before
 */
#ifndef MM_PROMPT_H
#define MM_PROMPT_H

void prompt_ask(void);

/* The same share for a child that stands for a thread of the target (latency.h). */
void prompt_ask_for_share(void);

#endif

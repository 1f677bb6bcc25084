/* SPDX-License-Identifier: MIT */
/*
 * leave: the one way out, for the normal end, for the controller's death, and for our own crash. Plain system
 * calls, no allocation.
 *
 *	1. every trap is lifted
 *	2. each thread that is stopped is settled and detached: pc back on the instruction if it is just
 *	   behind a trap, a signal of its own delivered
 *	3. each thread that runs (or is inside fork) is interrupted, and settled the same way when it stops:
 *	   nothing of ours is left in its registers or its signal queue
 *	4. a thread that sleeps in the kernel is left alone: interrupting it would make its system call fail
 *	   with EINTR. It cannot be at a trap.
 *	5. children that were just being forked are cleaned
 *	6. the keeper exits, and with that the kernel detaches the sleeping threads without waking them
 */
#ifndef MM_LEAVE_H
#define MM_LEAVE_H

#include "attach/keeper/state.h"

/* Does everything except the exit. May be called from a signal handler, and twice. */
void leave(struct keeper *k, enum leave_reason reason);

/*
 * One of several processes is left, for the reason in k->leave_reason, while the keeper goes on with the
 * others: then 6. is not possible, and threads that sleep are interrupted, too, as in a pause. That takes
 * several rounds (leave_round), until k->gone.
 */
void leave_alone(struct keeper *k);
void leave_round(struct keeper *k);

#endif

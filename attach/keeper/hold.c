/* SPDX-License-Identifier: MIT */
#include "attach/keeper/hold.h"

#include "attach/keeper/served.h"

void hold_begin(struct keeper *k, struct tracee *t, bool pending, bool for_stack)
{
	/* first: if we crash from here on, the code that leaves must know whether the thread is at a trap */
	t->hit_pending = pending;
	t->state = TRACEE_HELD;
	t->seen_ns = k->now_ns;
	t->for_stack = for_stack;
	if (!++k->holds)
		k->holds = 1;
	t->hold = k->holds;
	atomic_store(&k->shared->hold[t - k->threads.all], t->hold);
	k->held++;
}

void hold_end(struct keeper *k, struct tracee *t)
{
	atomic_store(&k->shared->hold[t - k->threads.all], 0);
	served_add(k, t, t->seen_ns);
	k->held--;
	budget_waited(k, t);
}

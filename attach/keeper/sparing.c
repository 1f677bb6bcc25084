/* SPDX-License-Identifier: MIT */
#include "attach/keeper/sparing.h"

#include "attach/keeper/procfs.h"
#include "attach/keeper/state.h"

bool sparing_look(struct keeper *k, struct tracee *t, bool late)
{
	bool runs = t->state == TRACEE_RUNNING && procfs_activity(t->guest ? t->tid : k->target, t->tid) == ACTIVITY_BUSY;

	t->spared = runs && !late;
	if (runs && late)
		(void)!tracee_interrupt(t); /* ESRCH: it has ended meanwhile */
	return t->spared;
}

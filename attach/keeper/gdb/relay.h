/* SPDX-License-Identifier: MIT */
/*
 * relay: the keeper while a debugger is the tracer.
 *
 *	gdb (tracer) ──hits──▶ relay ──ring──▶ controller
 *	             ◀──go───        ◀─mailbox─
 *
 * gdb plants and lifts, stops and continues; its Python says for each hit which site it was, which thread, and what its
 * registers were, and waits. The relay does with it what the keeper does with its own (note.h), reading the thread's
 * memory meanwhile, and lets it go on. Commands of the controller are carried out by gdb, too (wire.h). To the
 * controller all is as ever.
 *
 * Nothing that the relay does, or its end, changes the target: it never traces, and only reads; but when gdb was killed, which
 * leaves its breakpoints behind, it takes out those that it has asked for. When
 * gdb has let the target go, the relay can become the keeper that it was made as (COMMAND_TAKE_OVER).
 */
#ifndef MM_RELAY_H
#define MM_RELAY_H

#include "attach/keeper/state.h"

/* Serve gdb at k->shared->gdb until its end, which is the process's, too; returns if gdb has let go and the keeper takes over. */
void relay_run(struct keeper *k);

#endif

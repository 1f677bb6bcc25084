/* SPDX-License-Identifier: MIT */
/*
 * relay: the keeper while a debugger is the tracer.
 *
 *	gdb (tracer) ──hits──▶ relay ──ring──▶ controller
 *	             ◀──go───        ◀─mailbox─
 *
 * gdb plants and lifts, stops and continues. For each hit its Python sends the site, the thread and its
 * registers, and waits. The relay does with the hit what the keeper does with its own (hit_record.h),
 * meanwhile reading the thread's memory, and lets the thread go on. gdb carries out the controller's
 * commands, too (wire.h). For the controller nothing is different.
 *
 * The relay never traces and only reads, so neither what it does nor its end changes the target. The
 * exception: if gdb was killed, which leaves its breakpoints behind, the relay lifts those that it has asked
 * for. When gdb has detached from the target, the relay can become the keeper (COMMAND_TAKE_OVER).
 */
#ifndef MM_RELAY_H
#define MM_RELAY_H

#include "attach/keeper/state.h"

/*
 * Serve gdb at k->shared->gdb until gdb ends, which ends this process, too. Returns if gdb has detached and
 * the keeper takes over.
 */
void relay_run(struct keeper *k);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * step: a displaced instruction that cannot be emulated is run by its thread, alone: in padding, where it was
 * put, or where it belongs, the trap lifted for that moment. The thread stops with a SIGTRAP behind it, or with
 * whatever comes first, and must then be found in neither place.
 */
#ifndef MM_STEP_H
#define MM_STEP_H

#include "attach/keeper/state.h"

/*
 * @t is stopped at @trap and runs its instruction: in padding (@displaced), or in place. @before: what
 * the thread has (rip behind the int3); @regs: rip at the trap.
 */
void step_begin(struct keeper *k, struct tracee *t, uint32_t trap, struct user_regs_struct *before,
		struct user_regs_struct *regs, bool displaced);

/* @t, stopped with SIGTRAP: is that the end of its step? */
bool step_is_done(const struct tracee *t);

/*
 * @t, which steps, is stopped with @regs, for that or another reason: as if the instruction was not
 * begun, or is done. @regs: what it has then.
 */
void step_end(struct keeper *k, struct tracee *t, struct user_regs_struct *regs);

/*
 * @t is stopped for another reason in the middle of a step: make it as if the
 * displaced instruction was not begun, or is done.
 */
void step_break_off(struct keeper *k, struct tracee *t);

/*
 * @t steps in place no more: it has, or it is dead, or runs in another memory now. The trap stands
 * again, if it is to.
 */
void step_end_in_place(struct keeper *k, struct tracee *t);

/* @t is stopped with SIGTRAP: is it the end of a step? Then it is settled as one. */
bool step_settle(struct keeper *k, struct tracee *t);

/*
 * @t is stopped for another reason, but its step is done, and the SIGTRAP that says so still queued:
 * broken off now, that SIGTRAP would be taken for another hit, or for the target's own. Continued, it
 * comes at once.
 */
bool step_on_the_way(const struct tracee *t);

#endif

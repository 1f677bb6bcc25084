/* SPDX-License-Identifier: MIT */
/*
 * step: a displaced instruction that cannot be emulated is run by its thread, as a single step: in padding,
 * to which it was copied, or in place, with the trap lifted for that moment. The thread stops with a SIGTRAP
 * after it, or for another reason before, and is then set to behind the instruction or back to it.
 */
#ifndef MM_STEP_H
#define MM_STEP_H

#include "attach/keeper/state.h"

/*
 * @t is stopped at @trap: have it run the displaced instruction, in padding (@displaced) or in place.
 * @before: the thread's registers (rip behind the int3); @regs: rip at the trap.
 */
void step_begin(struct keeper *k, struct tracee *t, uint32_t trap, struct user_regs_struct *before,
		struct user_regs_struct *regs, bool displaced);

/* @t is stopped with SIGTRAP: is that the end of its step? */
bool step_is_done(const struct tracee *t);

/*
 * @t, which steps, is stopped with @regs, after the step or for another reason: make it as if the instruction
 * was not begun, or is done. @regs: in and out.
 */
void step_end(struct keeper *k, struct tracee *t, struct user_regs_struct *regs);

/*
 * @t is stopped for another reason in the middle of a step: make it as if the displaced instruction was not
 * begun, or is done.
 */
void step_break_off(struct keeper *k, struct tracee *t);

/*
 * @t does not step in place any more: the step is done, or the thread is dead, or it runs in another memory
 * now. The trap is planted again, if it should be.
 */
void step_end_in_place(struct keeper *k, struct tracee *t);

/* @t is stopped with SIGTRAP: if that is the end of a step, settle it, and return true. */
bool step_settle(struct keeper *k, struct tracee *t);

/*
 * @t is stopped for another reason, but its step is done, and the SIGTRAP for that is still queued. If the
 * step were broken off now, that SIGTRAP would be mistaken for another hit, or for the target's own. If @t is
 * continued, it stops with that SIGTRAP at once.
 */
bool step_on_the_way(const struct tracee *t);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * hold: a stopped thread that waits for the controller, which looks at it or changes something; a number
 * distinguishes each wait from the next.
 */
#ifndef MM_HOLD_H
#define MM_HOLD_H

#include "attach/keeper/state.h"

/*
 * hold_begin: @t, which is stopped, waits for the controller from now on (state HELD). @pending: it is at a
 * trap whose instruction was not carried out. @for_stack: only its stack is wanted. hold_end: it no longer
 * waits; the caller sets its state. Must be called before the thread runs again, because the controller may
 * be reading its memory.
 */
void hold_begin(struct keeper *k, struct tracee *t, bool pending, bool for_stack);
void hold_end(struct keeper *k, struct tracee *t);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * hold: a thread that waits for the controller, to see or to change something while it stands; a number tells
 * each wait from the next.
 */
#ifndef MM_HOLD_H
#define MM_HOLD_H

#include "attach/keeper/state.h"

/*
 * @t, which is stopped, waits for the controller from now on (state HELD; @pending: at a trap whose
 * instruction was not carried out), or does so no longer: then its state is the caller's to set.
 * Before it runs again hold_end must be called, for others may be reading its memory.
 */
void hold_begin(struct keeper *k, struct tracee *t, bool pending, bool for_stack);
void hold_end(struct keeper *k, struct tracee *t);

#endif

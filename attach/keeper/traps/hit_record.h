/* SPDX-License-Identifier: MIT */
/*
 * hit_record: one hit, from the thread's registers to records in the ring: registers, arguments, what its rule
 * reads (remote_loads.h), a slice of stack.
 *
 * Space in the ring is reserved first, before anything of the hit is recorded. If there is none, the thread
 * waits a moment and is served again from the start, and after max_stall hits are dropped and counted, until
 * half of the ring is free. With a budget no thread waits. Then what the hit means (hit_classify.h), then the record.
 * The result says whether the thread must wait for the controller's answer; how it goes on or waits is up to
 * the caller: the keeper's own traps (hit.h) and those that a debugger plants (relay.h) differ only in that.
 */
#ifndef MM_HIT_RECORD_H
#define MM_HIT_RECORD_H

#include "attach/keeper/state.h"

enum hit_record_result {
	HIT_RECORD_GO,	/* recorded, or nothing to record: the thread may go on */
	HIT_RECORD_HELD,	/* recorded; it waits for the controller (hold_begin was called) */
	HIT_RECORD_NO_ROOM,	/* the ring is full: nothing was done, ask again later */
};

/*
 * @t is stopped at @trap with @regs, rip at the trap. *@rec: the record with a slice of its stack, or NULL;
 * it is published, and may only be read, until the thread goes on.
 */
must_check enum hit_record_result hit_record(struct keeper *k, struct tracee *t, uint32_t trap,
				     const struct user_regs_struct *regs, struct record_hit **rec);

#endif

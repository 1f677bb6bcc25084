/* SPDX-License-Identifier: MIT */
/*
 * hit_record: writes the records of one hit: the thread's registers, the arguments of the call, what the rule
 * reads (remote_loads.h), a slice of stack.
 *
 * First, before anything of the hit is recorded, space in the ring is reserved. If there is none, the thread
 * waits a moment and is served again from the start; after max_stall_ns hits are dropped and counted, until
 * half of the ring is free. With a budget no thread waits. Then the hit is classified (hit_classify.h), then
 * recorded. The result is whether the thread must wait for the controller's answer; how it waits or resumes
 * is up to the caller: the keeper's own traps (hit.h) and those that a debugger plants (relay.h) differ only
 * in that.
 */
#ifndef MM_HIT_RECORD_H
#define MM_HIT_RECORD_H

#include "attach/keeper/state.h"

enum hit_record_result {
	HIT_RECORD_GO,		/* recorded, or nothing to record: the thread may resume */
	HIT_RECORD_HELD,	/* recorded; it waits for the controller (hold_begin was called) */
	HIT_RECORD_NO_ROOM,	/* the ring is full: nothing was done, ask again later */
};

/*
 * @t is stopped at @trap with @regs, rip at the trap. *@rec: the record with a slice of its stack, or NULL;
 * it is published, and may only be read, until the thread resumes.
 */
must_check enum hit_record_result hit_record(struct keeper *k, struct tracee *t, uint32_t trap,
					     const struct user_regs_struct *regs, struct record_hit **rec);

/*
 * @t was held at such a hit, and has its answer: if the answer is that there will be no trap at the return
 * address that it was held for, the call is not followed.
 */
void hit_record_answered(struct keeper *k, struct tracee *t, uint32_t trap,
			 const struct user_regs_struct *regs);

#endif

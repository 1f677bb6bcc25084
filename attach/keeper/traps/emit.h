/* SPDX-License-Identifier: MIT */
/*
 * emit: a hit becomes a record of the ring: registers, arguments, what its rule
 * reads (loads.h), a slice of stack.
 *
 * Room is asked for first, before anything is noted of the hit: where there is
 * none the thread waits a moment and is served again from the start, and after
 * max_stall hits are dropped and counted, until half of the ring is free. With a
 * budget nobody waits.
 */
#ifndef MM_EMIT_H
#define MM_EMIT_H

#include "attach/keeper/traps/mean.h"

/* Bytes of stack to make room for. Ask once: the controller may change the hint at any time. */
uint32_t emit_stack_wanted(const struct keeper *k, const struct tracee *t, const struct site *s, bool held);

/* Room for a record of @size bytes. 0; -EAGAIN: wait; -ENOSPC: dropped, go on without. */
must_check int emit_make_room(struct keeper *k, uint32_t size, struct record_hit **rec);

/* Fill and publish @rec, which has room for @want bytes of stack; the thread is stopped at @trap with @regs. */
void emit_hit(struct keeper *k, struct tracee *t, uint32_t trap, const struct user_regs_struct *regs,
	      const struct meaning *m, struct record_hit *rec, uint32_t want, bool held);

#endif

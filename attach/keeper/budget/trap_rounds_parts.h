/* SPDX-License-Identifier: MIT */
/*
 * trap_rounds_parts: what trap_rounds.c and trap_rounds_wishes.c share, and no other file needs.
 * trap_round_*: of one site.
 */
#ifndef MM_TRAP_ROUNDS_PARTS_H
#define MM_TRAP_ROUNDS_PARTS_H

#include "attach/keeper/state.h"

bool trap_rounds_may_plant(const struct keeper *k);

struct trap_round *trap_round_at(struct keeper *k, uint32_t i);

/* The controller's settings, as they are now. Period 0: always planted. */
uint64_t trap_round_period_ns(const struct keeper *k, uint32_t i);
bool trap_round_has_priority(const struct keeper *k, uint32_t i);

/* Its round begins now; whether it is planted does not change. */
void trap_round_begin_round(struct keeper *k, uint32_t i);

/* It is planted from now on, and its state is set; or it waits, if it cannot be planted. */
void trap_round_plant(struct keeper *k, uint32_t i);

/* It is lifted already, and due at @at_ns. */
void trap_round_wait_until(struct keeper *k, uint32_t i, uint64_t at_ns);

/* It has no rounds any more: it is always planted, or gone. */
void trap_round_release(struct keeper *k, uint32_t i);

#endif

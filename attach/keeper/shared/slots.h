/* SPDX-License-Identifier: MIT */
/*
 * slots: with --follow, what a copy that a watched process forks is recorded into from its first instruction,
 * before a watch of it has begun. An array in memory that the mmattach of several processes maps before it
 * starts any watch: so it is at the same address there, in each watch, and in each keeper.
 *
 *	FREE ──▶ TAKEN ──▶ OFFERED ──▶ CLAIMED ──▶ ADOPTED ──▶ (shared.end.left) ──▶ FREE
 *	 keeper: its child    │ many: it is      the watch has         the keeper lets go; the watch
 *	 has stopped          │ to be watched    begun                 reads what is left: closed
 *	                      └──▶ FREE: it has ended, or execs, or is not claimed in time
 *
 * The keeper goes on with the copy: no other tracer could have it without a moment in which it runs unseen.
 */
#ifndef MM_SLOTS_H
#define MM_SLOTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/keeper/shared/shared.h"

#define SLOTS 64

enum slot_state { SLOT_FREE, SLOT_TAKEN, SLOT_OFFERED, SLOT_CLAIMED, SLOT_ADOPTED };

/* That the number of a trap has no number of the watch: it is not planned there. */
#define SLOT_NO_SITE UINT16_MAX

struct slot {
	_Atomic uint32_t state;		/* enum slot_state */
	_Atomic uint32_t closed;	/* no watch reads it any more */
	_Atomic uint32_t crowded;	/* it has recorded much: a watch should begin at once */
	int bell;			/* eventfd, of the watch of this slot; there from the beginning */
	/* by the keeper, before it is OFFERED */
	pid_t pid;			/* the copy */
	pid_t keeper;			/* its tracer */
	uint64_t born_ns;		/* CLOCK_MONOTONIC: its first stop */
	/*
	 * Records before this position of the ring have the numbers of the keeper that has forked it: map has
	 * those of the watch (COMMAND_ADOPT).
	 */
	uint64_t mapped_until;
	uint16_t map[SHARED_SITES];
	struct shared shared;
};

struct slots {
	pid_t owner;		/* the mmattach that claims them */
	int bell;		/* eventfd: a slot is crowded */
	_Atomic uint32_t most;	/* the first so many may be used: there is memory for them */
	_Atomic uint64_t missed;	/* copies that ended before they were claimed */
	struct slot all[SLOTS];
};

/* From @from to @to, unless it is in another state. true: done. */
static inline bool slot_move(struct slot *s, enum slot_state from, enum slot_state to)
{
	uint32_t was = from;

	return atomic_compare_exchange_strong(&s->state, &was, to);
}

#endif

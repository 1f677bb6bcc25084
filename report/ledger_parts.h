/* SPDX-License-Identifier: MIT */
/*
 * ledger_parts: what the parts of the ledger have in common; for them alone.
 *
 *	ledger.c	what it is as a whole, time, and which part takes which fact
 *	ledger_blocks.c	events: who holds what
 *	ledger_older.c	events of blocks that this ledger does not know
 *	ledger_run.c	information about the run
 */
#ifndef MM_LEDGER_PARTS_H
#define MM_LEDGER_PARTS_H

#include "base/cleanup.h"
#include "report/ledger.h"

/* The index of stack @number; that of the stack without frames (and counted) if it is not defined. 0 or -ENOMEM. */
must_check int ledger_stack(struct ledger *l, uint32_t number, uint32_t *index);

/* The same of "number + 1 or 0". */
must_check int ledger_stack_or_none(struct ledger *l, uint32_t number_and_one, uint32_t *index);

/* The place, made if there was none, its series brought to now: before anything of it changes. NULL on want of memory. */
must_check struct place *ledger_place_now(struct ledger *l, uint32_t family, uint32_t stack);

/* Facts of blocks: 0 or -ENOMEM. */
must_check int ledger_take_event(struct ledger *l, const struct fact *f);

/* @addr was given out, and nothing was held there. */
must_check int ledger_older_displaced(struct ledger *l, taddr addr, uint32_t stack);

/* A release, or another end, of a block that is not held here. */
must_check int ledger_older_released(struct ledger *l, taddr addr);
must_check int ledger_older_forgotten(struct ledger *l, taddr addr);
must_check int ledger_older_aside(struct ledger *l, taddr addr, uint64_t key, struct ledger_aside *a);
must_check int ledger_older_aside_freed(struct ledger *l, uint64_t key, const struct ledger_aside *a);	/* @a NULL: not known */
must_check int ledger_older_aside_back(struct ledger *l, uint64_t key, const struct ledger_aside *a);

/* Facts of MMT_INFO: 0 or -ENOMEM. */
must_check int ledger_take_info(struct ledger *l, const struct fact *f);
must_check int ledger_take_twice(struct ledger *l, const struct fact *f);

#endif

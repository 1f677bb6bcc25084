/* SPDX-License-Identifier: MIT */
/*
 * ledger_parts: what the parts of the ledger have in common; for them alone.
 *
 *	ledger.c	the ledger as a whole, time, and which part takes which fact
 *	ledger_books.c	stacks and places of the books, and what is in them
 *	ledger_blocks.c	events: which blocks are live
 *	ledger_refs.c	events: which objects have references
 *	ledger_older.c	events of blocks and objects that this ledger does not know
 *	ledger_run.c	information about the run
 *	ledger_verdicts.c	verdicts
 *	ledger_sample.c	what a sampled run says of its stacks
 *	ledger_merged.c	the processes of a merged trace
 */
#ifndef MM_LEDGER_PARTS_H
#define MM_LEDGER_PARTS_H

#include "base/cleanup.h"
#include "report/ledger/ledger.h"

/*
 * The index of stack @number. If it is not defined, this is counted, and it is the index of the stack without
 * frames. 0 or -ENOMEM.
 */
must_check int ledger_stack(struct ledger *l, uint32_t number, uint32_t *index);

/* The same for "number + 1 or 0". */
must_check int ledger_stack_or_none(struct ledger *l, uint32_t number_and_one, uint32_t *index);

/*
 * The place, made if there was none, with its series advanced to now. Call it before anything in the place
 * changes. NULL: out of memory.
 */
must_check struct place *ledger_place_now(struct ledger *l, uint32_t family, uint32_t stack);

/* Events: 0 or -ENOMEM. */
must_check int ledger_take_event(struct ledger *l, const struct fact *f);

/* Events of objects: MMT_REF ... MMT_OBJECT, and MMT_FORGET, in a family of objects. */
must_check int ledger_take_ref(struct ledger *l, const struct fact *f);
must_check int ledger_forget_object(struct ledger *l, taddr addr);

/* @addr was allocated, and no block was live there. */
must_check int ledger_older_displaced(struct ledger *l, taddr addr, uint32_t stack);

/* A free, or another end, of a block that is not live here. */
must_check int ledger_older_released(struct ledger *l, taddr addr);
must_check int ledger_older_forgotten(struct ledger *l, taddr addr);
must_check int ledger_older_aside(struct ledger *l, taddr addr, uint64_t key, struct ledger_aside *a);
/* @a NULL: not known. */
must_check int ledger_older_aside_freed(struct ledger *l, uint64_t key, const struct ledger_aside *a);
must_check int ledger_older_aside_back(struct ledger *l, uint64_t key, const struct ledger_aside *a);

/*
 * An event of an object: MMT_REF, UNREF, BORN, COUNTED. 1: the object may be of an earlier piece, and the
 * event was kept; 0: it is this ledger's own; -ENOMEM. @ends: in any case, what was there before is gone.
 */
must_check int ledger_older_ref(struct ledger *l, const struct fact *f, uint32_t stack, bool ends);

/* MMT_OBJECT: from now on what is at @addr is this ledger's own. 0 or -ENOMEM. */
must_check int ledger_older_object(struct ledger *l, taddr addr, bool older);

/* Facts of MMT_INFO: 0 or -ENOMEM. */
must_check int ledger_take_info(struct ledger *l, const struct fact *f);
must_check int ledger_take_twice(struct ledger *l, const struct fact *f);

/* MMT_VERDICTS, MMT_JUDGED: 0; -ENOMEM; -EINVAL: it contradicts what is known; -ENOSPC. */
must_check int ledger_take_verdicts(struct ledger *l, const struct fact_verdicts *look);
must_check int ledger_take_judged(struct ledger *l, const struct fact *f);
void ledger_look_fini(struct ledger_verdicts *look);

/* MMT_PROCESS, MMT_MERGED, MMT_HANG, MMT_BINS, MMT_SAID: 0; -ENOMEM; -EINVAL: it contradicts what is known; -ENOSPC. */
must_check int ledger_take_process(struct ledger *l, const struct fact_process *process);
must_check int ledger_take_merged(struct ledger *l, const struct fact *f);
must_check int ledger_take_hang(struct ledger *l, const struct fact *f);
must_check int ledger_take_bins(struct ledger *l, const struct fact *f);
must_check int ledger_take_said(struct ledger *l, const struct fact *f);

/* May a block or object of an earlier piece be at @addr? */
bool ledger_may_be_older(const struct ledger *l, uint32_t family, taddr addr);

#endif

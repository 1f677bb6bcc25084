/* SPDX-License-Identifier: MIT */
/*
 * tally: what each hit means: from the keeper's records to facts.
 *
 *	alloc	closes or static exit	a block was given out; its size is in the chunk's header or an argument
 *	free	entry			it was released
 *	realloc	opens			the old block is put aside: from here on its address may be another's
 *		closes			failed: it is put back; else it was released and the result is new
 *	protect	closes			memory may be written from now on, or not any more (families of ranges: tally_ranges.c)
 *	ref, unref			references to an object were taken, dropped
 *	from, until			what is counted begins and ends
 *
 * A call that failed counts nowhere, nor does free(NULL). What is not in scope is not counted when it is taken, nor when it is
 * given back: it is kept in mind, or it would look like a release of what is older than the watch.
 *
 * The order of the ring is the order in which threads were let go on, so what
 * it says is what happened: no one can get an address before its free was seen.
 * What a release was (of a block that is held, of an older one, the second of one block) is
 * decided here, and said in the fact. Each family has its own blocks; the same address may be in several.
 */
#ifndef MM_TALLY_H
#define MM_TALLY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/control/planting.h"
#include "attach/events/doubts.h"
#include "attach/events/ranges.h"
#include "attach/events/recorder.h"
#include "attach/events/scope.h"
#include "attach/keeper/shared/event.h"
#include "base/addrmap.h"
#include "report/ledger/released.h"

/* The number of the stack of a hit at site @s, @skip frames less, of what is tagged @tag (NULL: nothing). 0 or -ENOMEM. */
typedef int tally_stack_of(void *ctx, const struct record_hit *hit, const struct site *s, uint32_t skip, const char *tag,
			   uint32_t *number);

struct tally {
	struct planting *planting;
	struct recorder *recorder;
	struct released *released;
	tally_stack_of *stack_of;
	void *stack_ctx;
	struct scope *scope;
	struct addrmap reallocs;	/* family and tid -> struct realloc_open */
	struct addrmap outside;		/* what was taken out of scope and is there: a set of tally_key() */
	struct addrmap passed;		/* family and tid -> struct passed_on */
	struct addrmap moves;		/* family and tid -> struct range_move */
	struct ranges ranges[LEDGER_FAMILIES_MAX];	/* by family: of those that are of ranges */
	struct doubts doubts;
	pid_t pid;			/* the target; its first thread does not give back a cache. 0: not known */
	bool counting;			/* within --from and --until */
	uint64_t events;		/* hits that counted */
	uint64_t left_out;		/* ranges that were taken out of scope */
	uint64_t unread_callers;	/* blocks whose place could not be read */
	uint64_t unread_sizes;		/* blocks whose size could not be read */
	uint64_t unread_threads;	/* taken by threads that had ended before their names were read (--thread) */
	uint64_t unread_tags;		/* they count, without a tag */
	uint64_t unread_values;		/* calls that did not count, since something that their rule needs could not be read */
	bool out_of_memory;
};

/* Counting begins at once, unless a rule says from where. 0 or -ENOMEM. */
must_check int tally_init(struct tally *t, struct planting *planting, struct recorder *recorder, struct scope *scope,
			  tally_stack_of *stack_of, void *stack_ctx);
void tally_fini(struct tally *t);

void tally_hit(struct tally *t, const struct record_hit *hit);

/* A thread ended: a realloc that it had begun is over. */
void tally_thread_end(struct tally *t, uint32_t tid);

/* Events were lost: what was released until now may have been given out again since. */
void tally_gap(struct tally *t);

/* The watch is over. What is in doubt counts, unless its thread has ended meanwhile. */
void tally_end(struct tally *t);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * tally: makes facts of the keeper's hits.
 *
 *	alloc	closes or static exit	a block was allocated; its size is in the chunk header or an argument
 *	free	entry			it was freed
 *	realloc	opens			the old block is put aside: its address may be reused from here on
 *		closes			failed: it is put back; else it was freed and the result is new
 *	protect	closes			memory becomes writable, or not writable (families of ranges:
 *					tally_ranges.c)
 *	pool, reset, move		blocks lie in pools, and are freed with them (tally_pools.h)
 *	ref, unref			references to an object were acquired, released
 *	from, until			counting begins and ends
 *
 * A call that failed is not counted, nor is free(NULL). For a block out of scope, neither its allocation nor
 * its free is counted: its address is stored, or its free would look like that of a block older than the
 * watch.
 *
 * The order of the ring is the order in which threads were resumed, so it is the order of events: no thread
 * can get an address before its free was recorded. What a free was (of a live block, of an older one, the
 * second of one block) is decided here, and recorded in the fact. Each family has its own blocks; the same
 * address may be in several.
 */
#ifndef MM_TALLY_H
#define MM_TALLY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/control/planting.h"
#include "attach/events/pools.h"
#include "attach/events/ranges.h"
#include "attach/events/recorder.h"
#include "attach/events/scope.h"
#include "attach/events/suspect_frees.h"
#include "attach/keeper/shared/event.h"
#include "base/addrmap.h"
#include "report/ledger/released.h"

/* Which frames of a hit become its stack: as struct backtrace_frames. */
struct tally_frames {
	uint32_t skip;
	taddr returned;
};

/* The number of the stack of a hit at @s, tagged @tag (NULL: no tag). 0 or -ENOMEM. */
typedef int tally_stack_of(void *ctx, const struct record_hit *hit, const struct site *s,
			   const struct tally_frames *which, const char *tag, uint32_t *number);

struct tally {
	struct planting *planting;
	struct recorder *recorder;
	struct released *released;
	tally_stack_of *stack_of;
	void *stack_ctx;
	struct scope *scope;
	/* how large the block at @addr was that a function of @m freed, which is not glibc; 0: not known. Or NULL */
	uint64_t (*freed_size)(void *ctx, const struct module *m, taddr addr);
	void *freed_size_ctx;
	struct addrmap reallocs;	/* family and tid -> struct realloc_open */
	struct addrmap outside;		/* live blocks allocated out of scope: a set of tallied_key() */
	struct addrmap forwarded;		/* family and tid -> struct forwarded_free */
	struct pools pools;		/* which block lies in which pool, in families that have pools */
	uint64_t pools_ns;		/* when the last hit was */
	struct addrmap moves;		/* family and tid -> struct range_move */
	struct ranges ranges[LEDGER_FAMILIES_MAX];	/* by family; used by families of ranges */
	struct suspect_frees suspects;
	pid_t pid;			/* the target; its first thread does not free its cache. 0: unknown */
	/* calls may end unseen now: nothing is called a double free */
	bool settling;
	/*
	 * Events were lost (tally_gap), the last time when the ledger's time was unsure_us. Blocks that are live
	 * there since before that are unsure: they may have been freed, and their addresses may be other blocks'.
	 */
	bool lossy;
	uint64_t unsure_us;
	bool counting;			/* within --from and --until */
	uint64_t events;		/* hits that counted */
	uint64_t left_out;		/* ranges that were allocated out of scope */
	uint64_t from_freed;		/* blocks that were taken from a pool that was freed before */
	uint64_t unread_callers;	/* blocks whose caller could not be read */
	uint64_t unread_sizes;		/* blocks whose size could not be read */
	uint64_t unread_threads;	/* by threads that ended before their names were read (--thread) */
	uint64_t unread_tags;		/* calls that count, but without a tag */
	uint64_t unread_values;		/* calls that did not count: a value for the rule was not read */
	bool out_of_memory;
};

/* Counting begins at once, unless a rule says from where. 0 or -ENOMEM. */
must_check int tally_init(struct tally *t, struct planting *planting, struct recorder *recorder,
			  struct scope *scope, tally_stack_of *stack_of, void *stack_ctx);
void tally_fini(struct tally *t);

void tally_hit(struct tally *t, const struct record_hit *hit);

/* A thread ended: a realloc that it had begun will not end. */
void tally_thread_end(struct tally *t, uint32_t tid);

/*
 * Events were lost. What is known of an address is unsure until an event of that address is seen: what was freed
 * before may have been allocated again, and what is live in the ledger may have been freed. So a free is called a
 * double one only if both frees were seen after the loss.
 */
void tally_gap(struct tally *t);

/*
 * Something may be left to do that did not have to be done at once: do some of it. true: there is more.
 * tally_settle: do all of it, since what is live is to be looked at.
 */
must_check bool tally_idle(struct tally *t);
void tally_settle(struct tally *t);

/*
 * The watch has left the target. A thread that has freed blocks again, and had no hit since, may be at its end: it is
 * given 0.3 s. How many have ended by then is noted. Before tally_end.
 */
void tally_await_ends(struct tally *t);

/* The watch is over. Suspect frees are counted, unless their thread has ended meanwhile. */
void tally_end(struct tally *t);

#endif

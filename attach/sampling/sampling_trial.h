/* SPDX-License-Identifier: MIT */
/*
 * sampling_trial: the evidence of one trial, and what follows from it: is a function a wrapper?
 * sampling_parents.h has the idea; it begins trials, holds threads and leads them.
 *
 *	the thread got a block in the function, and returns	sampling_trial_weigh
 *	it was led, so that it had to allocate before it does	sampling_trial_check
 *	what the counts and the code show			sampling_trial_answer
 */
#ifndef MM_SAMPLING_TRIAL_H
#define MM_SAMPLING_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/control/planting.h"
#include "attach/keeper/shared/event.h"
#include "base/taddr.h"

#define SAMPLING_OUTER 4u
#define SAMPLING_CALLERS 16u

struct sampling_trial {
	taddr function;		/* 0: this slot is free */
	uint32_t inner;		/* the site in it that began the trial */
	uint32_t outer[SAMPLING_OUTER];	/* the sites at its callers */
	uint32_t nouter;
	taddr callers[SAMPLING_CALLERS]; /* the first ones seen */
	uint32_t delta;		/* the offset in the block of what it returns; if it varies, the largest */
	uint32_t same, other;	/* how often it returned that address; something else */
	/* it has returned the block often enough; does it call the allocator each time? */
	bool always;		/* its code shows that: it must only return the block some more times; */
	bool checking;		/* else the callers whose calls surely lead to it show it */
	uint32_t holds;		/* so often a thread was to be held */
	uint32_t fresh, stale, unclear; /* how often it did; did not; may have, unseen */
	uint64_t until_ns;
};

/* What may have lifted the trap of an inner site: hits there; the budget was spent; hits that were lost. */
struct sampling_lifts {
	uint64_t hits, closed, dropped;
};

/* A thread is inside the function, or will be. */
struct sampling_last {
	taddr function;
	/* the caller where it was held until the trap of the inner site was planted; 0: it was not */
	taddr led_from;
	uint64_t rsp;		/* as it was there */
	taddr block;		/* what it got in the function; 0: nothing was seen since it was led */
	struct sampling_lifts lifts;	/* block 0: those until it was led */
	uint64_t size, time_ns;
	bool has_start;		/* as in struct block_birth */
};

/* The thread of @last, which was held when it got its block, returns to a caller. */
void sampling_trial_weigh(struct sampling_trial *t, const struct sampling_last *last,
			  const struct record_hit *hit);

/*
 * The thread of @last was led, and returns to @caller. @lifts: those until now; NULL: the function has another
 * site, at which it may have allocated unseen.
 */
void sampling_trial_check(struct sampling_trial *t, const struct sampling_last *last,
			  const struct record_hit *hit, taddr caller, const struct sampling_lifts *lifts);

enum sampling_answer {
	SAMPLING_NOT_YET,
	SAMPLING_CHECK,		/* the check is to begin: threads are to be led */
	SAMPLING_WRAPPER,
	SAMPLING_NO_WRAPPER,
	SAMPLING_NOT_KNOWN,
};

/* @ret: where the allocator returns to in the function: the address of the inner site. */
enum sampling_answer sampling_trial_answer(struct sampling_trial *t, const struct planting *planting,
					   taddr ret, uint64_t now_ns);

#endif

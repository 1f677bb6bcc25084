/* SPDX-License-Identifier: MIT */
/*
 * spending: how much may still be spent, if no ten seconds may cost more than was promised. Pure.
 *
 *	promise		so many ns in any ten seconds
 *	purse		filled with two thirds of that rate, holds a third of the promise
 *
 * Who never takes more than is in the purse keeps the promise: in ten seconds a full purse and what comes in meanwhile make just that. But what
 * a stop costs is known afterwards, and some cannot be avoided: then the purse is in debt. So what the last ten seconds have cost
 * is counted besides, in slots of 10 ms and never too little, and no more is left than is missing there to the promise.
 */
#ifndef MM_SPENDING_H
#define MM_SPENDING_H

#include <stdint.h>

#define TEN_SECONDS_NS 10000000000ull
#define SPENDING_SLOT_NS 10000000ull
#define SPENDING_FILL(promised) ((promised) * 2 / 3)	/* into the purse */
#define SPENDING_PURSE(promised) ((promised) / 3)	/* holds that */
#define SPENDING_DEBT(promised) ((promised) * 10)	/* paid off in 150 s: a machine that stood still with a thread in a stop is not paid for in hours */
#define SPENDING_SLOTS 1001	/* ten seconds, and the slot in which they begin */

/* What was spent of late. */
struct ten_seconds {
	uint64_t newest;		/* number of the newest slot, since time began */
	uint64_t sum_ns, worst_ns;	/* now, and of any ten seconds so far */
	uint64_t slots[SPENDING_SLOTS];
};

void ten_seconds_add(struct ten_seconds *t, uint64_t ns, uint64_t now_ns);
uint64_t ten_seconds_sum(struct ten_seconds *t, uint64_t now_ns);

struct spending {
	uint32_t ppm;
	uint64_t promise_ns;		/* of ten seconds */
	int64_t purse_ns, purse_most_ns;	/* no debt is larger than SPENDING_DEBT */
	uint64_t filled_ns;		/* when it was filled last */
	struct ten_seconds had;
};

/* @ppm of the time may be spent. The purse begins full. */
void spending_init(struct spending *s, uint32_t ppm, uint64_t now_ns);

/* @now_ns never goes back. */
void spending_take(struct spending *s, uint64_t ns, uint64_t now_ns);

/* What is in the purse; negative: debts. */
int64_t spending_purse(struct spending *s, uint64_t now_ns);

/* What is missing in the last ten seconds to the promise; negative: it is broken. */
int64_t spending_room(struct spending *s, uint64_t now_ns);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * token_bucket: how much may still be spent, if no ten seconds may cost more than the budget. Pure.
 *
 *	promise		the budget: so many ns in any ten seconds
 *	bucket		the token bucket: filled at two thirds of that rate, holds a third of the promise
 *
 * Spending no more than the bucket holds keeps to the budget: a full bucket and what is filled in during ten
 * seconds add up to exactly that. But what a stop costs is known only afterwards, and some stops cannot be
 * avoided: then the bucket is in debt. So the cost of the last ten seconds is counted as well, in slots of 10
 * ms and never too low, and no more may be spent than it leaves of the budget.
 */
#ifndef MM_TOKEN_BUCKET_H
#define MM_TOKEN_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

#define TEN_SECONDS_NS 10000000000ull
#define TOKEN_BUCKET_SLOT_NS 10000000ull
#define TOKEN_BUCKET_FILL(promised) ((promised) * 2 / 3)	/* into the token bucket */
#define TOKEN_BUCKET_SIZE(promised) ((promised) / 3)	/* its capacity */
/*
 * largest debt, paid off in 150 s: a machine that was suspended with a thread in a stop is not paid for in
 * hours
 */
#define TOKEN_BUCKET_DEBT(promised) ((promised) * 10)
#define TOKEN_BUCKET_SLOTS 1001	/* ten seconds, and the slot in which they begin */

/* What was spent recently. */
struct ten_seconds {
	uint64_t newest;		/* number of the newest slot, since time began */
	uint64_t sum_ns, worst_ns;	/* now, and the most of any ten seconds so far */
	uint64_t slots[TOKEN_BUCKET_SLOTS];
};

void ten_seconds_add(struct ten_seconds *t, uint64_t ns, uint64_t now_ns);
uint64_t ten_seconds_sum(struct ten_seconds *t, uint64_t now_ns);

struct token_bucket {
	uint32_t ppm;			/* of the time, for this bucket */
	uint64_t promise_ns;		/* of ten seconds */
	int64_t level_ns, capacity_ns;	/* no debt is larger than TOKEN_BUCKET_DEBT */
	uint64_t filled_ns;		/* when it was filled last */
	struct ten_seconds recent;
};

/* @ppm of the time may be spent. The token bucket begins full. */
void token_bucket_init(struct token_bucket *s, uint32_t ppm, uint64_t now_ns);

/* From now on only @ppm of it is for this bucket: the rest is spent by others, and is added by token_bucket_note. */
void token_bucket_share(struct token_bucket *s, uint32_t ppm, uint64_t now_ns);
bool token_bucket_is_shared(const struct token_bucket *s);
void token_bucket_note(struct token_bucket *s, uint64_t ns, uint64_t now_ns);

/* @now_ns never goes back. */
void token_bucket_take(struct token_bucket *s, uint64_t ns, uint64_t now_ns);

/* What the token bucket holds; negative: debt. */
int64_t token_bucket_level(struct token_bucket *s, uint64_t now_ns);

/* What the last ten seconds leave of the budget; negative: it is exceeded. */
int64_t token_bucket_room(struct token_bucket *s, uint64_t now_ns);

#endif

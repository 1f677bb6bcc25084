/* SPDX-License-Identifier: MIT */
/*
 * round_queue: which round begins next, of the sites that are called so often that the quota ends their
 * rounds, and when it is paid for. Pure.
 *
 *	round over ──▶ waits, longest first ──▶ enough is left, no other began just before ──▶ round begins
 *
 * These rounds can wait; those of rarely hit sites, and of sites that seem to leak, cannot. So hot sites get
 * what the others leave: a round begins when what is left can pay for its hits, and for those still expected
 * in rounds that have begun. Whatever is spent reduces that, so that rounds become as rare as necessary. If
 * they did not wait, each of some fifty hot sites would spend all there is as soon as there is something, and
 * traps would hardly be planted anywhere.
 *
 * When exactly a round begins is random: not just after the hit that ended the round of another site, nor at
 * the tick at which the token bucket is filled, for code that is driven by a clock would always be met in the
 * same state.
 */
#ifndef MM_ROUND_QUEUE_H
#define MM_ROUND_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/keeper/budget/time_heap.h"

#define ROUND_QUEUE_CHANCE_NS 4000000ull	/* a round begins at a random time within this */

struct round_queue {
	struct time_heap waiting;	/* by when they began to wait */
	uint64_t look_ns;	/* no round begins before */
	uint64_t owed;		/* hits that are still expected in rounds that have begun */
};

/* What there is to spend. */
struct round_queue_tokens {
	int64_t spare_ns;	/* now; negative: nothing, until so much has been filled in */
	int64_t most_ns;	/* the most that it can become */
	uint64_t ppm;		/* the rate at which it is filled */
	uint64_t stop_ns;	/* cost of a hit */
};

/* @i waits for its next round, since @now_ns; or does so no more. */
void round_queue_wait(struct round_queue *t, uint32_t i, uint64_t now_ns);
void round_queue_drop(struct round_queue *t, uint32_t i);

/* The site whose round is next; TIME_HEAP_NONE if there is none, or none may begin yet. */
uint32_t round_queue_first(const struct round_queue *t, uint64_t now_ns);

/*
 * May the round of the first site begin, of which @hits are expected? Then the site no longer waits, and the
 * hits are owed. Whether another round may begin is checked @chance_ns later than it could be.
 */
bool round_queue_begin(struct round_queue *t, uint64_t now_ns, uint32_t hits,
		       const struct round_queue_tokens *p, uint64_t chance_ns);

/* @hits of the owed hits have been served, or are no longer expected. */
void round_queue_paid(struct round_queue *t, uint32_t hits);

#endif

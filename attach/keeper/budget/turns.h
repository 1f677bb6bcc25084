/* SPDX-License-Identifier: MIT */
/*
 * turns: whose round begins next, among the sites that are called so often that their rounds end by the quota, and when it is paid for. Pure.
 *
 *	round over ──▶ waits, the longest first ──▶ enough is spare, and nothing was begun just before ──▶ its round begins
 *
 * These rounds can wait; what is seldom, and what seems to leak, cannot. So they get what the others leave: a round begins when its hits can be paid
 * from what is spare, with those that are still to come in rounds that have begun. All that was spent for whatever has made less of that, so that
 * rounds become as rare as they must. If they did not wait, each of some fifty hot places would spend all there is as soon as there is some, and
 * traps would hardly stand anywhere.
 *
 * When exactly one begins is left to chance: not just after the hit that has ended another's, nor at the tick at which the purse is filled, for
 * what is driven by a clock would be met always in the same state.
 */
#ifndef MM_TURNS_H
#define MM_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/keeper/budget/due.h"

#define TURNS_CHANCE_NS 4000000ull	/* within which it is left to chance when one begins */

struct turns {
	struct due waiting;	/* by when their turn came */
	uint64_t look_ns;	/* none begins before */
	uint64_t owed;		/* hits that may still come in rounds that have begun */
};

/* What there is to spend. */
struct turns_purse {
	int64_t spare_ns;	/* now; negative: nothing, and so much must come in before there is */
	int64_t most_ns;	/* it never becomes more */
	uint64_t ppm;		/* comes in so fast */
	uint64_t stop_ns;	/* a hit costs */
};

/* @i waits for its next round, since @now_ns; or does so no more. */
void turns_wait(struct turns *t, uint32_t i, uint64_t now_ns);
void turns_drop(struct turns *t, uint32_t i);

/* Who is next if one can begin at all, or DUE_NONE. */
uint32_t turns_first(const struct turns *t, uint64_t now_ns);

/*
 * May the first, of whose round @hits are to be paid, begin? Then it waits no more, and they are owed. When one is looked at next is @chance_ns later
 * than it must be.
 */
bool turns_begin(struct turns *t, uint64_t now_ns, uint32_t hits, const struct turns_purse *p, uint64_t chance_ns);

/* @hits of those that were owed have come, or will not. */
void turns_paid(struct turns *t, uint32_t hits);

#endif

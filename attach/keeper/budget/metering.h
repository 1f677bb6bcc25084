/* SPDX-License-Identifier: MIT */
/*
 * metering: traps that stand for a while only, as often and as long as the controller wishes (meter.h) and as the budget allows (cost.h).
 *
 *	         round begins                  quota reached, at that hit
 *	WAITING ──────────────▶ STANDING ──────────────────────────────▶ WAITING ──▶ READY, for its next round to be paid for
 *	   ▲                     │    ▲
 *	   │        budget spent │    │ and there again: the round goes on with what is left of its quota
 *	   │                     ▼    │
 *	   └──── round over ──── SHUT ┘
 *
 * The next round of a site whose quota was reached begins when what all others have cost leaves enough for it (turns.h); but where the controller
 * says that it goes ahead, as soon as it is time. What is called less often stands all the time.
 *
 * Where many threads have run into traps at once, each waits for all that are served before it: so a trap that is hit then is lifted for a moment,
 * and its round goes on afterwards.
 *
 * Nothing is planted either from the moment that the dynamic linker says that modules come or go until the controller has looked at them: what a plugin's
 * code was may be unmapped and mapped as anything else meanwhile, by another thread too. What stands already stays; whose turn it is waits as
 * if the budget were spent.
 *
 * Of the sites that are hot, whose quota is reached within milliseconds, one stands at a time: else a busy thread would stand at all of them in
 * turn, and none would be hit as often as it is.
 *
 * A round that is over while the trap stands is followed by the next one at once. A trap that is lifted at a hit needs no emulation: the thread is
 * put back onto the real instruction and goes on. Others that ran into it at the same moment are put back as well, when they are seen
 * (hit.c). Over a trap that some thread steps in place nothing is planted; see trap_shelve.
 *
 * What the controller asks for (plant, stand, forget) is in metering_wishes.c.
 *
 * Few traps are planted or lifted in one round of the loop, since threads that have stopped wait meanwhile. Whose turn it is
 * is told by a heap; sites that wait cost nothing.
 */
#ifndef MM_METERING_H
#define MM_METERING_H

#include "attach/keeper/budget/due.h"
#include "attach/keeper/budget/pace.h"
#include "attach/keeper/budget/turns.h"
#include "attach/keeper/shared/shared.h"

struct keeper;

enum metered_state { METERED_NOT, METERED_WAITING, METERED_READY, METERED_STANDING, METERED_SHUT };

struct metered {
	uint8_t state;
	bool full;			/* the quota has ended its last round; */
	bool hot;			/* and that was over within milliseconds */
	uint32_t quota, left;		/* of the present round; quota 0: no end */
	uint32_t owed;			/* in turns.owed: so many of its hits */
	uint64_t round_end_ns;
	/* of the present stretch, METERED_STANDING */
	uint64_t began_ns, began_calm_ns, began_work_ns, began_stops; /* what the clocks showed (calm.h) */
	uint32_t hits, calm_hits;
	uint32_t rest_ns;		/* of exposure, told in us */
};

struct metering {
	uint64_t random;		/* rounds must not keep step with what the target does, nor with each other */
	struct due due;
	uint64_t look_ns;		/* whose turn it is is not looked at before */
	struct turns turns;
	struct pace pace;
	uint32_t hot;			/* the hot site that stands, or stood last */
	struct metered all[SHARED_SITES];
};

/* Plant shared->sites[@i], or take it in for its rounds. Known already: its wishes are read again. 0 or as trap_plant. */
must_check int metering_plant(struct keeper *k, uint32_t i);

/* A round of @i, which is known, begins now, whosever turn it is: somebody is about to come there. Does its trap stand? Not if nothing may be planted. */
bool metering_stand(struct keeper *k, uint32_t i);

/* Its memory is unmapped. */
void metering_forget(struct keeper *k, uint32_t i);

/* The stop that is served was for @trap, standing or lifted just before. */
void metering_note(struct keeper *k, uint32_t trap);

/* A thread was stopped by @trap, which stands. true: it is lifted now. */
bool metering_hit(struct keeper *k, uint32_t trap);

/* A thread had run into @trap before that was lifted: it is not counted. (Nor noted, where that was for a step in place.) */
void metering_miss(struct keeper *k, uint32_t trap);

/* A step in place over @trap is over: it does not stand again, if nothing may be planted now. */
void metering_stepped(struct keeper *k, uint32_t trap);

/* The dynamic linker says that modules come or go. */
void metering_modules(struct keeper *k);

/* Once a round of the loop: budget, modules and turns. */
void metering_round(struct keeper *k);

/* For how long the loop may sleep, at most @max_ns. */
uint64_t metering_patience(const struct keeper *k, uint64_t max_ns);

#endif

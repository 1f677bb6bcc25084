/* SPDX-License-Identifier: MIT */
/*
 * metering: traps that stand for a while only, as often and as long as the controller wishes (meter.h) and as the budget allows (budget.h).
 *
 *	         round begins                  quota reached, at that hit
 *	WAITING ──────────────▶ STANDING ──────────────────────────────▶ WAITING
 *	   ▲                     │    ▲
 *	   │        budget spent │    │ and there again: the round goes on with what is left of its quota
 *	   │                     ▼    │
 *	   └──── round over ──── SHUT ┘
 *
 * Where many threads have run into traps at once, each waits for all that are served before it: so a trap that is hit then is lifted for a moment,
 * and its round goes on afterwards.
 *
 * A round that is over while the trap stands is followed by the next one at once. A trap that is lifted at a hit needs no emulation: the thread is
 * put back onto the real instruction and goes on. Others that ran into it at the same moment are put back as well, when they are seen
 * (hit.c). Over a trap that some thread steps in place nothing is planted; see trap_shelve.
 *
 * Few traps are planted or lifted in one round of the loop, since threads that have stopped wait meanwhile. Whose turn it is
 * is told by a heap; sites that wait cost nothing.
 */
#ifndef MM_METERING_H
#define MM_METERING_H

#include "attach/keeper/due.h"
#include "attach/keeper/shared.h"

struct keeper;

enum metered_state { METERED_NOT, METERED_WAITING, METERED_STANDING, METERED_SHUT };

struct metered {
	uint8_t state;
	uint32_t quota, left;		/* of the present round; quota 0: no end */
	uint64_t round_end_ns;
	/* of the present stretch, METERED_STANDING */
	uint64_t calm_ns;		/* what that clock showed at its beginning */
	uint32_t hits;
	uint32_t rest_ns;		/* of exposure, told in us */
};

struct metering {
	uint32_t random;
	struct due due;
	struct metered all[SHARED_SITES];
};

/* Plant shared->sites[@i], or take it in for its rounds. Known already: its wishes are read again. 0 or as trap_plant. */
must_check int metering_plant(struct keeper *k, uint32_t i);

/* Its memory is unmapped; everything is. */
void metering_forget(struct keeper *k, uint32_t i);
void metering_forget_all(struct keeper *k);

/* The stop that is served was for @trap, standing or lifted just before. */
void metering_note(struct keeper *k, uint32_t trap);

/* A thread was stopped by @trap, which stands. true: it is lifted now. */
bool metering_hit(struct keeper *k, uint32_t trap);

/* Once a round of the loop: budget and turns. */
void metering_round(struct keeper *k);

/* For how long the loop may sleep, at most @max_ns. */
uint64_t metering_patience(const struct keeper *k, uint64_t max_ns);

#endif

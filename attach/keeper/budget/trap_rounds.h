/* SPDX-License-Identifier: MIT */
/*
 * trap_rounds: traps that are planted for a while only, as often and as long as the controller asks
 * (site_stats.h) and the budget allows (cost.h).
 *
 *	         round begins                  quota reached, at that hit
 *	WAITING ──────────────▶ PLANTED ──────────────────────────────▶ WAITING ──▶ READY, until paid for
 *	   ▲                     │    ▲
 *	   │        budget spent │    │ budget available: the round continues with the rest of its quota
 *	   │                     ▼    │
 *	   └──── round over ──── SHUT ┘
 *
 * If its quota was reached, the next round of a site begins when the cost of all others leaves enough for it
 * (round_queue.h); or, if the controller gave the site priority (`ahead`), as soon as it is due. The traps of
 * functions that are called less often are planted all the time.
 *
 * If many threads have run into traps at once, each waits for all that are served before it: so a trap that
 * is hit then is lifted for a moment, and its round continues afterwards.
 *
 * Nor is anything planted from the moment that the dynamic linker reports that modules come or go until the
 * controller has looked at them: meanwhile the address of a plugin's code may be unmapped and mapped as
 * anything else, by another thread, too. Planted traps stay; sites that are due wait as if the budget were
 * spent.
 *
 * Of the hot sites, whose quota is reached within milliseconds, the trap of one is planted at a time:
 * otherwise a busy thread would be stopped at each of them in turn, and none would be hit as often as it is
 * without us.
 *
 * If a round ends while the trap is planted, the next one begins at once. A trap that is lifted at a hit
 * needs no emulation: the thread is set back to the real instruction and resumes. Threads that ran into it at
 * the same moment are set back as well, when their stops are seen (hit.c). No trap is planted where a thread
 * steps in place; see trap_shelve.
 *
 * What the controller asks for (plant, begin a round, forget) is in trap_rounds_wishes.c.
 *
 * Few traps are planted or lifted in one iteration of the loop, since stopped threads wait meanwhile. A heap
 * has the sites that are due next (time_heap.h); sites that wait cost nothing.
 */
#ifndef MM_TRAP_ROUNDS_H
#define MM_TRAP_ROUNDS_H

#include "attach/keeper/budget/exposure.h"
#include "attach/keeper/budget/round_queue.h"
#include "attach/keeper/budget/time_heap.h"
#include "attach/keeper/shared/shared.h"

struct keeper;

enum round_state { ROUND_NONE, ROUND_WAITING, ROUND_READY, ROUND_PLANTED, ROUND_SHUT };

struct trap_round {
	uint8_t state;
	bool full;			/* its last interval was ended by the quota, */
	bool hot;			/* and the last such one within milliseconds */
	uint32_t quota, left;		/* of the present round; quota 0: no limit */
	uint32_t owed;			/* its hits in queue.owed */
	uint64_t round_end_ns;
	/* of the present interval, ROUND_PLANTED */
	uint64_t began_ns, began_quiet_ns, began_work_ns,
		began_stops; /* what the clocks showed (quiet_clock.h) */
	uint32_t hits, quiet_hits;
	uint32_t rest_ns;		/* of exposure, which is counted in us */
};

struct trap_rounds {
	uint64_t random;		/* rounds must not keep step with the target, nor with each other */
	struct time_heap due;
	uint64_t look_ns;		/* sites that are due are not looked at before */
	struct round_queue queue;
	struct exposure exposure;
	uint32_t hot;			/* the hot site whose trap is planted, or was last */
	struct trap_round all[SHARED_SITES];
};

/*
 * Plant shared->sites[@i], or register it for rounds. If it is known already: read its settings again. 0 or
 * as trap_plant.
 */
must_check int trap_rounds_plant(struct keeper *k, uint32_t i);

/*
 * Begin a round of @i, which is known, now, whichever site is due: a thread is about to reach it. Is its trap
 * planted? Not if no trap may be planted now.
 */
bool trap_rounds_begin_now(struct keeper *k, uint32_t i);

/* The memory of site @i is unmapped. */
void trap_rounds_forget(struct keeper *k, uint32_t i);

/* The stop that is being served is at @trap, which is planted or was lifted just before. */
void trap_rounds_note(struct keeper *k, uint32_t trap);

/* A thread was stopped by @trap, which is planted. true: it is lifted now. */
bool trap_rounds_hit(struct keeper *k, uint32_t trap);

/*
 * A thread had run into @trap before it was lifted: the hit is not counted. (Nor counted as missed, if the
 * trap was lifted for a step in place.)
 */
void trap_rounds_miss(struct keeper *k, uint32_t trap);

/* A step in place over @trap is over: the trap is not planted again if no trap may be planted now. */
void trap_rounds_stepped(struct keeper *k, uint32_t trap);

/* The dynamic linker reports that modules come or go. */
void trap_rounds_modules(struct keeper *k);

/* Once per iteration of the loop: budget, modules, and the sites that are due. */
void trap_rounds_run(struct keeper *k);

/* For how long the loop may sleep, at most @max_ns. */
uint64_t trap_rounds_timeout(const struct keeper *k, uint64_t max_ns);

#endif

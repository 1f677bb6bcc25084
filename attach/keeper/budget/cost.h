/* SPDX-License-Identifier: MIT */
/*
 * cost: what the target pays, and whether metered traps may stand.
 *
 * Every stop of a thread is charged, whatever it was for, from the int3 (or signal, birth, interrupt) until the thread runs again:
 *
 *	   int3          we are awake        PTRACE_CONT        it runs
 *	    |── latency.wake ──|                  |─ latency.restart ─|
 *	    |─ our delay in the run queue ─|─ serving ─|
 *
 * The latencies are what a child has shown at the start, and longer if the target's own threads show that (standing.h).
 *
 * The delay in the run queue is told by /proc/self/schedstat, and charged to every thread that was found stopped then. Where it cannot be
 * told when a stop began, it began when everybody was last asked. Not charged: a group stop, which is the target's own.
 *
 *	open	──── the purse is nearly empty, or the last ten seconds nearly full ────▶	closed: all metered traps are lifted (metering.h)
 *		◀─── both have enough for a while ───
 *
 * So it is closed while nobody reads what was seen (loop_watch_reader).
 *
 * "Nearly" is the largest burst of late: what can still come from threads that have run into traps already, all at once. Stops that no
 * closing avoids (signals, births, the dynamic linker) are counted apart as well. If these alone pass the promise, we must leave.
 *
 * A hold is a wish of the controller's (meter.h): a thread waits until it has been seen to. The promise comes first: none is begun that could not last to
 * its end, and what those under way may still take is kept in reserve. A thread that waits for longer than that, or until all is closed, goes on without an
 * answer: so it makes no difference to the target what the controller does. How much of the budget goes to holds the controller decides
 * (sampling_parents.c).
 */
#ifndef MM_COST_H
#define MM_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/keeper/budget/calm.h"
#include "attach/keeper/budget/latency.h"
#include "attach/keeper/budget/spending.h"
#include "attach/keeper/budget/standing.h"
#include "attach/keeper/budget/turns.h"

struct keeper;
struct tracee;

#define COST_HOLDS 12			/* a hold is no longer than this part of what may be spent at once, */
#define COST_HOLD_NS 8000000ull	/* nor than that */

/* Why a thread was stopped. */
enum cost_of {
	COST_METERS,		/* a metered trap: can be avoided */
	COST_ATTACHED,		/* cannot, as long as we are attached */
	COST_ASKED,		/* the controller let it wait: it knows what it does */
};

struct cost {
	bool open;
	struct latency latency;		/* as learned so far */
	struct standing standing;
	int schedstat;			/* /proc/self/schedstat, or -1 */
	uint64_t delay_ns;		/* in the run queue, so far */
	pid_t woken_by;			/* the thread whose stop has woken us, or 0 */
	uint64_t woken_ns;		/* when we were awake, */
	uint64_t awake_ns;		/* and would have been, had we had a processor at once; 0: that cannot be told */
	struct spending spending;
	struct ten_seconds attached;	/* of COST_ATTACHED */
	struct calm calm;
	uint64_t burst_ns, most_burst_ns; /* spent since it was calm; the largest of late */
	uint64_t meters_ns;		/* what a stop for a metered trap costs, of late */
	uint64_t late_ns;		/* spent since it was closed, on who had run into traps before they were lifted */
	uint64_t hold_ns;		/* after that a hold is over */
	uint64_t next_fade_ns;
	bool metered, counts;		/* of the stop that is being served: it is for a metered trap; it came in the calm */
};

/* Before the target is seized. */
void cost_init(struct keeper *k);

/* We have slept from @slept_ns until now, k->now_ns, and are about to ask who has stopped; @tid has, as the signal says, or 0. */
void cost_woken(struct keeper *k, pid_t tid, uint64_t slept_ns);

/* We have slept, and nobody has stopped until k->now_ns. */
void cost_idle(struct keeper *k);

/* Before @t, which is stopped, is served. */
void cost_serve(struct keeper *k, const struct tracee *t);

/* @t has run into a metered trap, and its registers were read: so it is off its processor, and the kernel's account of it complete. */
void cost_hit(struct keeper *k, const struct tracee *t);

/* A thread that has stood since @since_ns goes on now. */
void cost_charge(struct keeper *k, uint64_t since_ns, enum cost_of what);

/* @tid, which was at a metered trap, has gone on. */
void cost_goes_on(struct keeper *k, pid_t tid);

/* All are about to be stopped. */
void cost_pause(struct keeper *k);

/* May one more thread wait for the controller? */
bool cost_may_hold(struct keeper *k);

/* For how long @t, which is HELD, waits for its answer. */
uint64_t cost_patience_ns(const struct keeper *k, const struct tracee *t);

/* Nobody stands any more: @tid was the last. */
void cost_calm(struct keeper *k, pid_t tid);

/* What the target has worked in the calm (calm.h). */
uint64_t cost_work_ns(const struct keeper *k);

/*
 * What is left for rounds that can wait: what is above half of the purse, so that those that cannot wait are not lifted for their sake. If they come
 * too @late, for what is seldom takes all there is: what is above where all is lifted.
 */
void cost_spare(struct keeper *k, bool late, struct turns_purse *out);

/* Once a round: opens or closes, sees whether we must leave. true: it has opened or closed. */
bool cost_round(struct keeper *k);

#endif

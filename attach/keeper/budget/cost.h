/* SPDX-License-Identifier: MIT */
/*
 * cost: what stops cost the target, and whether traps with rounds (trap_rounds.h) may be planted.
 *
 * Every stop of a thread is charged, whatever its reason, from the int3 (or signal, thread creation,
 * interrupt) until the thread runs again:
 *
 *	   int3          we are awake        PTRACE_CONT        it runs
 *	    |─── wake_ns ─────|                  |── restart_ns ──|
 *	    |─ our delay in the run queue ─|─ serving ─|
 *
 * The latencies are measured on a child at the start (stop_cost_calibrate.h), and raised if the target's own
 * threads show longer ones (stop_cost_learn.h).
 *
 * Our delay in the run queue is read from /proc/self/schedstat, and charged to every thread that is found
 * stopped after it. If it is not known when a stop began, it counts from when all threads were last asked.
 * Not charged: a group stop, which is the target's own.
 *
 *	open	── the token bucket is nearly empty, or the last ten seconds nearly full ──▶	closed
 *		◀── both have enough for a while ──
 *
 * Closed: all traps with rounds are lifted. It is also closed while the controller does not read the ring
 * (loop_watch_reader).
 *
 * "Nearly" is the largest recent burst: what threads that have run into traps already can still cost, all at
 * once. Stops that closing does not avoid (signals, new threads, the dynamic linker) are counted separately
 * as well. If these alone exceed the budget, we must leave.
 *
 * The controller can ask for a hold (site_stats.h): a thread waits until the controller has answered. The
 * budget has priority: no hold begins that it could not pay for up to the timeout, and what holds under way
 * may still cost is kept in reserve. A thread that waits longer than the timeout, or until the budget closes,
 * resumes without an answer: so the target does not depend on what the controller does. How much of the
 * budget goes to holds is decided by the controller (sampling_parents.c).
 */
#ifndef MM_COST_H
#define MM_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/keeper/budget/quiet_clock.h"
#include "attach/keeper/budget/round_queue.h"
#include "attach/keeper/budget/stop_cost_calibrate.h"
#include "attach/keeper/budget/stop_cost_learn.h"
#include "attach/keeper/budget/token_bucket.h"

struct keeper;
struct tracee;

#define COST_HOLDS 12			/* a hold lasts at most a full token bucket divided by this, */
#define COST_HOLD_NS 8000000ull	/* and at most this */

#define COST_ALL 1000000u	/* of a time: all of it, in millionths */

/* Why a thread was stopped. */
enum cost_of {
	COST_ROUND,		/* a trap with rounds: can be avoided */
	COST_ATTACHED,		/* cannot be avoided as long as we are attached */
	COST_HELD,		/* it was held; the controller limits how often it asks for that */
	COST_PAUSED,		/* in a pause of all threads */
};

struct cost {
	bool open;
	struct stop_cost latency;		/* as learned so far */
	struct stop_cost_learn learned;
	int schedstat;			/* /proc/self/schedstat, or -1 */
	uint64_t delay_ns;		/* in the run queue, so far */
	pid_t woken_by;			/* the thread whose stop has woken us, or 0 */
	uint64_t woken_ns;		/* when we woke up, */
	uint64_t awake_ns;		/* and would have, had a processor been free; 0: not known */
	struct token_bucket bucket;
	struct ten_seconds attached;	/* of COST_ATTACHED */
	struct quiet_clock quiet;
	uint64_t burst_ns, most_burst_ns; /* since the last quiet time; the largest recent one */
	uint64_t trap_stop_ns;		/* recent mean cost of a stop at a trap with rounds */
	/* spent since it was closed, on threads that had run into traps before these were lifted */
	uint64_t late_ns;
	uint64_t hold_ns;		/* timeout of a hold */
	uint64_t next_fade_ns;		/* when most_burst_ns shrinks next */
	/* of the stop that is being served: it is at a trap with rounds; it ended a quiet time */
	bool round, counts;
};

/* Before the target is seized. */
void cost_init(struct keeper *k);

/*
 * We have slept from @slept_ns until now, k->now_ns, and are about to ask which threads have stopped. @tid
 * has, as the signal says; 0: no thread is known.
 */
void cost_woken(struct keeper *k, pid_t tid, uint64_t slept_ns);

/* We have slept, and no thread has stopped until k->now_ns. */
void cost_idle(struct keeper *k);

/* Before @t, which is stopped, is served. */
void cost_serve(struct keeper *k, const struct tracee *t);

/*
 * @t has run into a trap with rounds, and its registers were read: so it is off its processor, and the
 * kernel's account of it is complete.
 */
void cost_hit(struct keeper *k, const struct tracee *t);

/* A thread that was stopped since @since_ns resumes now; of that, @ppm millionths count. */
void cost_charge(struct keeper *k, uint64_t since_ns, uint32_t ppm, enum cost_of what);

/* For stops there are @ppm of the time from now on; what the controller spends of the rest is noted. */
void cost_share(struct keeper *k, uint32_t ppm);
void cost_note(struct keeper *k, uint64_t ns);

/* @tid, which was stopped by a trap with rounds, has resumed. */
void cost_resumed(struct keeper *k, pid_t tid);

/* A pause begins: all threads are about to be stopped. */
void cost_pause(struct keeper *k);

/* For how long all threads may be stopped at once, now, if @awake of them do not sleep. */
uint64_t cost_pause_ns(struct keeper *k, uint32_t awake);

/* The part of a pause that counts for a thread that sleeps when it begins, in millionths. */
uint32_t cost_asleep_ppm(const struct keeper *k);

/* May one more thread wait for the controller? */
bool cost_may_hold(struct keeper *k);

/* For how long @t, which is HELD, waits for its answer. */
uint64_t cost_timeout_ns(const struct keeper *k, const struct tracee *t);

/* No thread is stopped any more: @tid was the last one. */
void cost_quiet(struct keeper *k, pid_t tid);

/* CPU time that the target has used in quiet time (quiet_clock.h). */
uint64_t cost_work_ns(const struct keeper *k);

/*
 * What is left for rounds that can wait. All traps are lifted when the token bucket holds less than a burst
 * (three quarters of its capacity, if the burst is larger). Rounds that can wait get what it holds above the
 * middle between that level and its capacity, so that they do not cause traps to be lifted whose rounds
 * cannot wait. @late: these rounds have waited too long, since rarely hit sites take all there is; then it is
 * what the bucket holds above that level itself. In both cases it is no more than the last ten seconds leave,
 * less a reserve.
 */
void cost_spare(struct keeper *k, bool late, struct round_queue_tokens *out);

/*
 * Once per iteration of the loop: opens or closes, checks whether we must leave. true: it has opened or
 * closed.
 */
bool cost_round(struct keeper *k);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * budget: the interface between the budget and the rest of the keeper. Behind it are the account of what
 * stops cost (cost.h), and the traps that are planted only as often as that account allows (trap_rounds.h).
 * Without a budget, these functions do what permanently planted traps need: mostly nothing.
 *
 *	sites	budget_plant, budget_begin_round, budget_forget	what the controller wants
 *	stops	budget_woken, budget_idle			when they began, as far as known
 *		budget_serve, budget_hit, budget_served		one stop, until after it is served
 *		budget_waited					one that waited for the controller
 *		budget_paused					one that was stopped with all others
 *		budget_wants_hold, budget_hold_ns		may it wait, and for how long
 *	time	budget_sleep_ns, budget_round			when sites are due; serving those
 *		budget_quiet, budget_pause			no thread is stopped; all will be
 */
#ifndef MM_BUDGET_H
#define MM_BUDGET_H

#include "attach/keeper/budget/cost.h"
#include "attach/keeper/budget/trap_rounds.h"

struct budget {
	struct cost cost;
	struct trap_rounds rounds;
};

/* Before the target is seized. Sets k->paid where there is a budget. */
void budget_begin(struct keeper *k);

/*
 * Plant shared->sites[@i], or register it for rounds. If it is known already: read its settings again. 0 or
 * as trap_plant.
 */
must_check int budget_plant(struct keeper *k, uint32_t i);

/*
 * Begin a round of @i, which is known, now: a thread is about to reach it. Is its trap planted? Not if no
 * trap may be planted now.
 */
bool budget_begin_round(struct keeper *k, uint32_t i);

/* The memory of the @n sites from @first on is unmapped. */
void budget_forget(struct keeper *k, uint32_t first, uint32_t n);

/*
 * We have slept from @slept_ns until now, k->now_ns, and are about to ask which threads have stopped. @tid
 * has, as the signal says; 0: no thread is known. Sets k->began.
 */
void budget_woken(struct keeper *k, pid_t tid, uint64_t slept_ns);

/* We have slept, and no thread has stopped until k->now_ns. */
void budget_idle(struct keeper *k);

/* When a thread has stopped whose stop is seen just now, after the keeper has slept. */
uint64_t budget_stopped_ns(const struct keeper *k);

/* Before @t, which is stopped, is served; only if k->paid. */
void budget_serve(struct keeper *k, const struct tracee *t);

/*
 * @t, its registers read, is at @trap: it has run into it, or (t->stepping) has run its instruction in
 * a step. true: the trap is lifted by now, by this hit or before.
 */
bool budget_hit(struct keeper *k, const struct tracee *t, uint32_t trap);

/* @t, stopped since @since_ns, was served and has resumed; only if k->paid. */
void budget_served(struct keeper *k, const struct tracee *t, uint64_t since_ns);

/* A step in place over @trap is over: the trap is not planted again if no trap may be planted now. */
void budget_stepped(struct keeper *k, uint32_t trap);

/*
 * For how long all threads may be stopped at once, now, if @awake of them do not sleep: nine tenths of what the
 * last ten seconds leave, divided by their number, where one that sleeps counts for a part. Without a budget, for ever.
 */
uint64_t budget_pause_ns(struct keeper *k, uint32_t awake);

/*
 * @t has waited for the controller since t->stopped_ns, and does so no longer: that is charged, and a stop
 * from now on is charged anew.
 */
void budget_waited(struct keeper *k, struct tracee *t);
void budget_paused(struct keeper *k, struct tracee *t);

/*
 * The hit of @trap that is being recorded: does the controller want this one held, and does the budget allow
 * it? true withdraws the controller's request.
 */
bool budget_wants_hold(struct keeper *k, uint32_t trap);

/* For how long @t, which is HELD, waits for its answer. */
uint64_t budget_hold_ns(const struct keeper *k, const struct tracee *t);

/*
 * Only @ppm of the time are for the keeper's stops from now on: the controller slows threads down by other means, and
 * has them noted as they are spent. (uprobes: attach/loss/loss_probes.h.)
 */
void budget_share(struct keeper *k, uint32_t ppm);
void budget_note(struct keeper *k, uint64_t ns);

/* No thread is stopped any more: @tid was the last one. Only if k->paid. */
void budget_quiet(struct keeper *k, pid_t tid);

/* A pause begins: all threads are about to be stopped. */
void budget_pause(struct keeper *k);

/* Once per iteration of the loop: cost, modules, and the sites that are due. */
void budget_round(struct keeper *k);

/* For how long the loop may sleep, at most @max_ns. */
uint64_t budget_sleep_ns(const struct keeper *k, uint64_t max_ns);

#endif

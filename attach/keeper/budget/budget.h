/* SPDX-License-Identifier: MIT */
/*
 * budget: all that the rest of the keeper says to a budget, and asks it. Behind it are the account of what
 * stops cost (cost.h), and the traps that are planted only as often as that allows (metering.h). Without a
 * budget these do what is done for traps that are planted always: mostly nothing.
 *
 *	sites	budget_plant, budget_stand, budget_forget	what the controller wants
 *	stops	budget_woken, budget_idle			when they began, as far as can be told
 *		budget_serve, budget_hit, budget_served		one, from before it is served until it is over
 *		budget_waited					one in which the thread waited for the controller
 *		budget_wants_hold, budget_hold_ns		shall it wait, and how long
 *	time	budget_sleep_ns, budget_round			when a site is due, and that it is seen to
 *		budget_calm, budget_pause			no thread is stopped; all are about to be
 */
#ifndef MM_BUDGET_H
#define MM_BUDGET_H

#include "attach/keeper/budget/cost.h"
#include "attach/keeper/budget/metering.h"

struct budget {
	struct cost cost;
	struct metering metering;
};

/* Before the target is seized. Sets k->paid where there is a budget. */
void budget_begin(struct keeper *k);

/*
 * Plant shared->sites[@i], or take it in for its rounds. Known already: its wishes are read again. 0
 * or as trap_plant.
 */
must_check int budget_plant(struct keeper *k, uint32_t i);

/*
 * A round of @i, which is known, begins now: a thread is about to come there. Is its trap planted? Not
 * if nothing may be.
 */
bool budget_stand(struct keeper *k, uint32_t i);

/* The memory of the @n sites from @first on is unmapped. */
void budget_forget(struct keeper *k, uint32_t first, uint32_t n);

/*
 * We have slept from @slept_ns until now, k->now_ns, and are about to ask who has stopped; @tid has,
 * as the signal says, or 0. Sets k->began.
 */
void budget_woken(struct keeper *k, pid_t tid, uint64_t slept_ns);

/* We have slept, and no thread has stopped until k->now_ns. */
void budget_idle(struct keeper *k);

/* When a thread stopped of which we hear just now, having slept. */
uint64_t budget_stopped_ns(const struct keeper *k);

/* Before @t, which is stopped, is served; only where it is paid. */
void budget_serve(struct keeper *k, const struct tracee *t);

/*
 * @t, its registers read, is at @trap: it has run into it, or (t->stepping) has run its instruction in
 * a step. true: the trap is lifted by now, by this hit or before.
 */
bool budget_hit(struct keeper *k, const struct tracee *t, uint32_t trap);

/* @t, stopped since @since_ns, was served and has gone on; only where it is paid. */
void budget_served(struct keeper *k, const struct tracee *t, uint64_t since_ns);

/* A step in place over @trap is over: it is not planted again, if nothing may be now. */
void budget_stepped(struct keeper *k, uint32_t trap);

/*
 * @t has waited for the controller since t->stopped_ns, and does so no longer: from now on it stands
 * for another reason.
 */
void budget_waited(struct keeper *k, struct tracee *t);

/*
 * The hit of @trap that is being noted: does the controller want to see just this one wait, and can
 * that be paid for? Asked once.
 */
bool budget_wants_hold(struct keeper *k, uint32_t trap);

/* For how long @t, which is HELD, waits for its answer. */
uint64_t budget_hold_ns(const struct keeper *k, const struct tracee *t);

/* No thread is stopped any more: @tid was the last. Only where it is paid. */
void budget_calm(struct keeper *k, pid_t tid);

/* All are about to be stopped. */
void budget_pause(struct keeper *k);

/* Once a round of the loop: cost, modules, and whose turn it is. */
void budget_round(struct keeper *k);

/* For how long the loop may sleep, at most @max_ns. */
uint64_t budget_sleep_ns(const struct keeper *k, uint64_t max_ns);

#endif

/* SPDX-License-Identifier: MIT */
#include "attach/keeper/budget/budget.h"

#include "attach/keeper/state.h"

void budget_begin(struct keeper *k)
{
	cost_init(k);
}

/* --- sites --- */

int budget_plant(struct keeper *k, uint32_t i)
{
	return trap_rounds_plant(k, i);
}

bool budget_begin_round(struct keeper *k, uint32_t i)
{
	return trap_rounds_begin_now(k, i);
}

void budget_forget(struct keeper *k, uint32_t first, uint32_t n)
{
	for (uint32_t i = first; i < first + n; i++)
		trap_rounds_forget(k, i);
}

/* --- stops --- */

void budget_woken(struct keeper *k, pid_t tid, uint64_t slept_ns)
{
	cost_woken(k, tid, slept_ns);
}

void budget_idle(struct keeper *k)
{
	cost_idle(k);
}

uint64_t budget_stopped_ns(const struct keeper *k)
{
	return keeper_clock_ns() - k->budget.cost.latency.wake_ns;
}

void budget_serve(struct keeper *k, const struct tracee *t)
{
	cost_serve(k, t);
}

bool budget_hit(struct keeper *k, const struct tracee *t, uint32_t trap)
{
	const struct trap *its = &k->traps.all[trap];
	bool lifted;

	trap_rounds_note(k, trap);
	if (t->stepping != NO_TRAP)
		return false;
	if (k->budget.cost.round)
		cost_hit(k, t);
	if (its->state == TRAP_LIFTED) {
		trap_rounds_miss(k, trap);
		return true;
	}
	/* first: other threads are on their way to it */
	lifted = trap_rounds_hit(k, trap);
	if (its->site.flags & SITE_MODULES)
		trap_rounds_modules(k);
	return lifted;
}

void budget_share(struct keeper *k, uint32_t ppm)
{
	cost_share(k, ppm);
}

void budget_note(struct keeper *k, uint64_t ns)
{
	cost_note(k, ns);
}

void budget_served(struct keeper *k, const struct tracee *t, uint64_t since_ns)
{
	bool round = k->budget.cost.round;

	cost_charge(k, since_ns, COST_ALL, round ? COST_ROUND : COST_ATTACHED);
	if (round)
		cost_resumed(k, t->tid);
}

void budget_stepped(struct keeper *k, uint32_t trap)
{
	trap_rounds_stepped(k, trap);
}

static void waited(struct keeper *k, struct tracee *t, enum cost_of what)
{
	/* a pause counts for a part where the thread slept when it began */
	cost_charge(k, t->stopped_ns, t->slept ? cost_asleep_ppm(k) : COST_ALL, what);
	t->stopped_ns = k->now_ns;
}

void budget_waited(struct keeper *k, struct tracee *t)
{
	waited(k, t, COST_HELD);
}

void budget_paused(struct keeper *k, struct tracee *t)
{
	waited(k, t, COST_PAUSED);
}

uint64_t budget_pause_ns(struct keeper *k, uint32_t awake)
{
	return k->paid ? cost_pause_ns(k, awake) : UINT64_MAX;
}

bool budget_wants_hold(struct keeper *k, uint32_t trap)
{
	_Atomic uint32_t *hold = &k->shared->meters[trap].hold;

	uint32_t n = atomic_load_explicit(hold, memory_order_relaxed);

	/* if the controller has changed it meanwhile, this thread is not held */
	return n && cost_may_hold(k) && atomic_compare_exchange_strong(hold, &n, n - 1);
}

uint64_t budget_hold_ns(const struct keeper *k, const struct tracee *t)
{
	return cost_timeout_ns(k, t);
}

/* --- time --- */

void budget_quiet(struct keeper *k, pid_t tid)
{
	cost_quiet(k, tid);
}

void budget_pause(struct keeper *k)
{
	cost_pause(k);
}

void budget_round(struct keeper *k)
{
	trap_rounds_run(k);
}

uint64_t budget_sleep_ns(const struct keeper *k, uint64_t max_ns)
{
	return trap_rounds_timeout(k, max_ns);
}

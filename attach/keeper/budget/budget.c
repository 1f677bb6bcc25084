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
	return metering_plant(k, i);
}

bool budget_stand(struct keeper *k, uint32_t i)
{
	return metering_stand(k, i);
}

void budget_forget(struct keeper *k, uint32_t first, uint32_t n)
{
	for (uint32_t i = first; i < first + n; i++)
		metering_forget(k, i);
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

	metering_note(k, trap);
	if (t->stepping != NO_TRAP)
		return false;
	if (k->budget.cost.metered)
		cost_hit(k, t);
	if (its->state == TRAP_LIFTED) {
		metering_miss(k, trap);
		return true;
	}
	/* first: other threads are on their way to it */
	lifted = metering_hit(k, trap);
	if (its->site.flags & SITE_MODULES)
		metering_modules(k);
	return lifted;
}

void budget_served(struct keeper *k, const struct tracee *t, uint64_t since_ns)
{
	bool metered = k->budget.cost.metered;

	cost_charge(k, since_ns, metered ? COST_METERS : COST_ATTACHED);
	if (metered)
		cost_goes_on(k, t->tid);
}

void budget_stepped(struct keeper *k, uint32_t trap)
{
	metering_stepped(k, trap);
}

void budget_waited(struct keeper *k, struct tracee *t)
{
	cost_charge(k, t->stopped_ns, COST_ASKED);
	t->stopped_ns = k->now_ns;
}

bool budget_wants_hold(struct keeper *k, uint32_t trap)
{
	_Atomic uint32_t *hold = &k->shared->meters[trap].hold;

	return atomic_load_explicit(hold, memory_order_relaxed) && cost_may_hold(k) && atomic_exchange(hold, 0);
}

uint64_t budget_hold_ns(const struct keeper *k, const struct tracee *t)
{
	return cost_patience_ns(k, t);
}

/* --- time --- */

void budget_calm(struct keeper *k, pid_t tid)
{
	cost_calm(k, tid);
}

void budget_pause(struct keeper *k)
{
	cost_pause(k);
}

void budget_round(struct keeper *k)
{
	metering_round(k);
}

uint64_t budget_sleep_ns(const struct keeper *k, uint64_t max_ns)
{
	return metering_patience(k, max_ns);
}

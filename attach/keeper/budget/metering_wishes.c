/* SPDX-License-Identifier: MIT */
/*
 * metering_wishes: what the controller asks for a site: that it is known, that its round comes soon, that it
 * is planted now, that it is forgotten.
 */
#include <errno.h>

#include "attach/keeper/budget/metering.h"
#include "attach/keeper/budget/metering_parts.h"
#include "attach/keeper/budget/stretches.h"
#include "base/random.h"

/* Its next round begins no later than that of a new site: within a period. */
static void come_sooner(struct keeper *k, uint32_t i)
{
	struct metered *m = metered_at(k, i);
	uint64_t at = k->now_ns + random_below(&k->budget.metering.random, metered_period_ns(k, i));

	if (m->state == METERED_READY && metered_goes_ahead(k, i))
		metered_wait_until(k, i, at);
	if (m->state == METERED_SHUT || m->round_end_ns <= at)
		return;
	m->round_end_ns = at;
	if (k->budget.metering.due.at_ns[i] > at)
		due_set(&k->budget.metering.due, i, at);
}

static void take_in(struct keeper *k, uint32_t i)
{
	struct metered *m = metered_at(k, i);

	*m = (struct metered){ .state = METERED_WAITING };
	m->round_end_ns = k->now_ns + random_below(&k->budget.metering.random, metered_period_ns(k, i));
	due_set(&k->budget.metering.due, i, m->round_end_ns);
}

/* It is always planted, and is to be metered from now on. */
static void take_over(struct keeper *k, uint32_t i)
{
	metered_begin_round(k, i);
	metered_plant(k, i);
}

bool metering_stand(struct keeper *k, uint32_t i)
{
	struct metered *m = metered_at(k, i);

	if (m->state == METERED_NOT || !metering_may_plant(k))
		return false;
	turns_drop(&k->budget.metering.turns, i);
	metered_begin_round(k, i);
	/* no thread is to wait for another hot site */
	m->hot = false;
	if (m->state != METERED_STANDING)
		metered_plant(k, i);
	return m->state == METERED_STANDING && k->traps.all[i].state == TRAP_PLANTED;
}

int metering_plant(struct keeper *k, uint32_t i)
{
	const struct site *site = &k->shared->sites[i];
	bool known = trap_find(&k->traps, site->addr) == i && k->traps.all[i].state != TRAP_REFUSED;
	bool wanted = k->paid && metered_period_ns(k, i);
	int r;

	if (!wanted && !known)
		return trap_plant(&k->traps, k->mem, i, site);
	/* it was due before the command came: it is always planted already */
	if (!wanted && metered_at(k, i)->state == METERED_NOT)
		return k->paid ? 0 : -EEXIST;
	if (known) {
		if (metered_at(k, i)->state == METERED_NOT)
			take_over(k, i);
		else
			come_sooner(k, i);
		return 0;
	}
	r = trap_prepare(&k->traps, k->mem, i, site);
	if (r < 0)
		return r;
	meter_clear(&k->shared->meters[i]);
	take_in(k, i);
	return 0;
}

void metering_forget(struct keeper *k, uint32_t i)
{
	/* if the memory was unmapped, it is not known since when the trap was lost */
	if (metered_at(k, i)->state == METERED_STANDING && !trap_is_lost(&k->traps, k->mem, i))
		stretches_end(k, i, false);
	metered_release(k, i);
}

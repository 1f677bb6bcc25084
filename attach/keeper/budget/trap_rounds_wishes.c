/* SPDX-License-Identifier: MIT */
/*
 * trap_rounds_wishes: what the controller asks for a site: that it is known, that its round comes soon, that
 * it is planted now, that it is forgotten.
 */
#include <errno.h>

#include "attach/keeper/budget/exposure_spans.h"
#include "attach/keeper/budget/trap_rounds.h"
#include "attach/keeper/budget/trap_rounds_parts.h"
#include "base/random.h"

/* Its next round begins no later than that of a new site: within a period. */
static void bring_forward(struct keeper *k, uint32_t i)
{
	struct trap_round *m = trap_round_at(k, i);
	uint64_t at = k->now_ns + random_below(&k->budget.rounds.random, trap_round_period_ns(k, i));

	if (m->state == ROUND_READY && trap_round_has_priority(k, i))
		trap_round_wait_until(k, i, at);
	if (m->round_end_ns <= at)
		return;
	m->round_end_ns = at;
	if (m->state != ROUND_SHUT && k->budget.rounds.due.at_ns[i] > at)
		time_heap_set(&k->budget.rounds.due, i, at);
}

static void add_site(struct keeper *k, uint32_t i)
{
	struct trap_round *m = trap_round_at(k, i);

	*m = (struct trap_round){ .state = ROUND_WAITING };
	m->round_end_ns = k->now_ns + random_below(&k->budget.rounds.random, trap_round_period_ns(k, i));
	time_heap_set(&k->budget.rounds.due, i, m->round_end_ns);
}

/* It is always planted, and is to have rounds from now on. */
static void start_rounds(struct keeper *k, uint32_t i)
{
	trap_round_begin_round(k, i);
	trap_round_plant(k, i);
}

bool trap_rounds_begin_now(struct keeper *k, uint32_t i)
{
	struct trap_round *m = trap_round_at(k, i);

	if (m->state == ROUND_NONE || !trap_rounds_may_plant(k))
		return false;
	round_queue_drop(&k->budget.rounds.queue, i);
	trap_round_begin_round(k, i);
	/* no thread is to wait for another hot site */
	m->hot = false;
	if (m->state != ROUND_PLANTED)
		trap_round_plant(k, i);
	return m->state == ROUND_PLANTED && k->traps.all[i].state == TRAP_PLANTED;
}

int trap_rounds_plant(struct keeper *k, uint32_t i)
{
	const struct site *site = &k->shared->sites[i];
	bool known = trap_find(&k->traps, site->addr) == i && k->traps.all[i].state != TRAP_REFUSED;
	bool wanted = k->paid && trap_round_period_ns(k, i);
	int r;

	if (!wanted && !known)
		return trap_plant(&k->traps, k->mem, i, site);
	/* it was due before the command: it is always planted already */
	if (!wanted && trap_round_at(k, i)->state == ROUND_NONE)
		return k->paid ? 0 : -EEXIST;
	if (known) {
		if (trap_round_at(k, i)->state == ROUND_NONE)
			start_rounds(k, i);
		else
			bring_forward(k, i);
		return 0;
	}
	r = trap_prepare(&k->traps, k->mem, i, site);
	if (r < 0)
		return r;
	site_stats_clear(&k->shared->meters[i]);
	add_site(k, i);
	return 0;
}

void trap_rounds_forget(struct keeper *k, uint32_t i)
{
	/* if the memory was unmapped, it is not known since when the trap was lost */
	if (trap_round_at(k, i)->state == ROUND_PLANTED && !trap_is_lost(&k->traps, k->mem, i))
		exposure_spans_end(k, i, false);
	trap_round_release(k, i);
}

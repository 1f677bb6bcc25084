/* SPDX-License-Identifier: MIT */
#include "attach/keeper/metering.h"

#include <errno.h>

#include "attach/keeper/state.h"

#define TURNS 16		/* in one round of the loop */
#define GRID_NS 2000000ull	/* turns are looked at so often: not a timer for each */
#define CLOSED_NS 10000000ull	/* and the purse, while it fills */
#define STRETCH_NS 2000000000ull /* a stretch is no longer: squares of us add up to what 64 bits hold in a hundred days */
#define CROWD 4			/* so many stand at once: not one more at this trap, for a moment */
#define CROWD_NS 20000000ull
#define HOT_TURN_NS 20000000ull
#define OPENING_NS 10000000ull	/* all sites that were shut begin within so long, */
#define OPENING_HOT_NS 400000000ull /* or, those that may be hot, within so long: at once, all threads would stand at one after the other */

_Static_assert(DUE_MAX == SHARED_SITES, "every site can have a turn");

static struct metered *metered_at(struct keeper *k, uint32_t i)
{
	return &k->metering.all[i];
}

/* xorshift: rounds must not keep step with what the target does, nor with each other */
static uint64_t random_below(struct metering *m, uint64_t n)
{
	m->random = m->random ? m->random : 2463534242u;
	m->random ^= m->random << 13;
	m->random ^= m->random >> 17;
	m->random ^= m->random << 5;
	return (uint64_t)((unsigned __int128)m->random * n >> 32);
}

static uint64_t period_ns(const struct keeper *k, uint32_t i)
{
	return atomic_load_explicit(&k->shared->meters[i].period_ms, memory_order_relaxed) * 1000000ull;
}

static void complain(struct keeper *k, enum trouble what, int r)
{
	if (r < 0)
		keeper_record(k, RECORD_TROUBLE, 0, k->target, what, -r);
}

static bool may_plant(const struct keeper *k)
{
	return k->budget.open && !k->traps.frozen;
}

/* --- stretches and rounds --- */

static void begin_stretch(struct keeper *k, uint32_t i)
{
	struct metered *m = metered_at(k, i);

	m->state = METERED_STANDING;
	m->began_ns = keeper_clock_ns();
	m->began_calm_ns = calm_ns(&k->budget.calm, m->began_ns);
	/* where there is no quota nobody asks for the work */
	m->began_work_ns = m->quota ? budget_work_ns(k) : 0;
	m->began_stops = k->budget.calm.stops;
	m->hits = m->calm_hits = 0;
	due_set(&k->metering.due, i, m->round_end_ns < k->now_ns + STRETCH_NS ? m->round_end_ns : k->now_ns + STRETCH_NS);
}

/* When a stop began is guessed, so a clock may seem to be behind what it has shown. */
static uint64_t since(uint64_t now, uint64_t then)
{
	return now > then ? now - then : 0;
}

static struct pace_mark pace_now(const struct keeper *k)
{
	return (struct pace_mark){ calm_ns(&k->budget.calm, keeper_clock_ns()), k->budget.calm.work_ns };
}

/*
 * What a thread has used of a processor is known exactly where it stands, but of one that runs, as when the stretch began, only to a tick of the
 * scheduler's, which may be longer than the whole stretch: so until the first hit it has worked no more than it can have.
 */
static void end_of_doubt(struct keeper *k, struct metered *m)
{
	const struct calm *c = &k->budget.calm;
	uint64_t most = pace_most(&k->metering.pace, pace_now(k), since(c->sum_ns, m->began_calm_ns));

	if (c->work_ns > m->began_work_ns + most)
		m->began_work_ns = c->work_ns - most;
}

static uint64_t worth_ns(struct keeper *k, const struct metered *m, bool full, uint32_t *hits)
{
	const struct calm *c = &k->budget.calm;
	const struct stretch s = {
		.wall_ns = keeper_clock_ns() - m->began_ns, .calm_ns = since(c->sum_ns, m->began_calm_ns), .work_ns = since(c->work_ns, m->began_work_ns),
		.stops_cpu_ns = (c->stops - m->began_stops) * c->stop_cpu_ns, .hits = m->hits, .calm_hits = m->calm_hits, .full = full, .hot = m->hot,
	};

	return pace_worth(&k->metering.pace, &s, pace_now(k), hits);
}

/* @full: at a hit, so that nobody works. */
static void end_stretch(struct keeper *k, uint32_t i, bool full)
{
	struct metered *m = metered_at(k, i);
	uint32_t hits;
	uint64_t exposed_ns = worth_ns(k, m, full, &hits) + m->rest_ns;

	m->rest_ns = exposed_ns % 1000;
	if (full)
		m->hot = exposed_ns < m->hits * PACE_HOT_NS;
	meter_add(&k->shared->meters[i], hits, exposed_ns / 1000, full);
}

static void begin_round(struct keeper *k, uint32_t i)
{
	struct metered *m = metered_at(k, i);
	uint64_t period = period_ns(k, i);

	m->quota = atomic_load_explicit(&k->shared->meters[i].quota, memory_order_relaxed);
	m->left = m->quota;
	m->round_end_ns = k->now_ns + period * 3 / 4 + random_below(&k->metering, period / 2 + 1);
}

/* It is not metered any more: it stands always. */
static void release(struct keeper *k, uint32_t i)
{
	metered_at(k, i)->state = METERED_NOT;
	due_drop(&k->metering.due, i);
}

static void wait_until(struct keeper *k, uint32_t i, uint64_t at_ns)
{
	metered_at(k, i)->state = METERED_WAITING;
	due_set(&k->metering.due, i, at_ns);
}

static void shut(struct keeper *k, uint32_t i)
{
	metered_at(k, i)->state = METERED_SHUT;
	due_drop(&k->metering.due, i);
}

/* It could not be planted: as somebody has changed the code there (another time, perhaps), or for nothing may be. */
static void stand_aside(struct keeper *k, uint32_t i)
{
	k->traps.all[i].shelved = true;
	if (k->traps.frozen)
		shut(k, i);
	else
		wait_until(k, i, metered_at(k, i)->round_end_ns);
}

static bool stands_hot(const struct keeper *k, uint32_t i)
{
	const struct metered *m = &k->metering.all[i];

	return m->hot && m->state == METERED_STANDING && k->now_ns < m->began_ns + HOT_TURN_NS;
}

/* Of hot sites one at a time: a thread that stands at each other's traps comes to none. */
static bool waits_its_turn(struct keeper *k, uint32_t i)
{
	struct metering *m = &k->metering;

	if (!metered_at(k, i)->hot || !k->traps.all[i].shelved)
		return false;
	if (m->hot != i && stands_hot(k, m->hot)) {
		wait_until(k, i, k->now_ns + random_below(m, HOT_TURN_NS));
		return true;
	}
	m->hot = i;
	return false;
}

static void plant(struct keeper *k, uint32_t i)
{
	int r;

	if (waits_its_turn(k, i))
		return;
	r = trap_unshelve(&k->traps, k->mem, i);
	complain(k, TROUBLE_PLANT, r);
	if (k->traps.all[i].state == TRAP_PLANTED || k->traps.all[i].steppers) {
		begin_stretch(k, i);
		return;
	}
	stand_aside(k, i);
}

/* false: it still stands. Its state is the caller's to set. */
static bool lift(struct keeper *k, uint32_t i, bool full)
{
	int r = trap_shelve(&k->traps, k->mem, i);

	complain(k, TROUBLE_LIFT, r);
	if (r < 0)
		return false;
	end_stretch(k, i, full);
	return true;
}

/* --- turns --- */

/* It stands from now on: in the same round, the next, or for good. */
static void go_on(struct keeper *k, uint32_t i)
{
	if (k->now_ns < metered_at(k, i)->round_end_ns) {
		plant(k, i);
	} else if (period_ns(k, i)) {
		begin_round(k, i);
		plant(k, i);
	} else {
		release(k, i);
		complain(k, TROUBLE_PLANT, trap_unshelve(&k->traps, k->mem, i));
	}
}

static void turn_of_lifted(struct keeper *k, uint32_t i)
{
	if (!may_plant(k)) {
		shut(k, i);
		return;
	}
	go_on(k, i);
}

static void turn_of_standing(struct keeper *k, uint32_t i)
{
	if (!k->budget.open && lift(k, i, false)) {
		shut(k, i);
		return;
	}
	/* a module that was loaded again: since when nothing could be seen there is not known */
	if (!trap_is_lost(&k->traps, k->mem, i))
		end_stretch(k, i, false);
	go_on(k, i);
}

static void take_turns(struct keeper *k)
{
	struct due *d = &k->metering.due;

	for (int n = 0; n < TURNS; n++) {
		uint32_t i = due_first(d);

		if (i == DUE_NONE || d->at_ns[i] > k->now_ns)
			return;
		if (metered_at(k, i)->state == METERED_STANDING)
			turn_of_standing(k, i);
		else
			turn_of_lifted(k, i);
	}
}

static bool may_be_hot(const struct keeper *k, uint32_t i)
{
	return atomic_load_explicit(&k->shared->meters[i].quota, memory_order_relaxed);
}

/* Those that wait do so on; the others' turn is now. */
static void open_or_close(struct keeper *k)
{
	for (uint32_t i = 0; i < k->traps.bound; i++) {
		uint8_t state = metered_at(k, i)->state;

		if (!k->budget.open && state == METERED_STANDING)
			due_set(&k->metering.due, i, k->now_ns);
		if (may_plant(k) && state == METERED_SHUT)
			due_set(&k->metering.due, i, k->now_ns + random_below(&k->metering, may_be_hot(k, i) ? OPENING_HOT_NS : OPENING_NS));
	}
}

/* true: the controller has looked at them. */
static bool modules_settled(struct keeper *k)
{
	uint32_t failed;

	if (!k->traps.frozen || shared_modules_move(k->shared))
		return false;
	failed = trap_thaw(&k->traps, k->mem);
	complain(k, TROUBLE_PLANT, failed ? -EIO : 0);
	atomic_fetch_add(&k->shared->moving_ns, k->now_ns - atomic_exchange(&k->shared->moving_since_ns, 0));
	return true;
}

void metering_round(struct keeper *k)
{
	if (!k->budget.on)
		return;
	/* both, each time */
	if (budget_round(k) | modules_settled(k))
		open_or_close(k);
	if (pace_due(&k->metering.pace, k->now_ns))
		pace_note(&k->metering.pace, k->now_ns, (struct pace_mark){ calm_ns(&k->budget.calm, keeper_clock_ns()), budget_work_ns(k) });
	if (!k->leave_reason)
		take_turns(k);
}

uint64_t metering_patience(const struct keeper *k, uint64_t max_ns)
{
	const struct due *d = &k->metering.due;
	uint32_t i = due_first(d);
	uint64_t at;

	if (!k->budget.on)
		return max_ns;
	if (!may_plant(k) && max_ns > CLOSED_NS)
		max_ns = CLOSED_NS;
	if (i == DUE_NONE)
		return max_ns;
	if (d->at_ns[i] <= k->now_ns)
		return 0;
	at = (d->at_ns[i] + GRID_NS - 1) / GRID_NS * GRID_NS;
	return at - k->now_ns < max_ns ? at - k->now_ns : max_ns;
}

/* --- hits --- */

void metering_note(struct keeper *k, uint32_t trap)
{
	if (metered_at(k, trap)->state != METERED_NOT)
		k->budget.metered = true;
}

bool metering_hit(struct keeper *k, uint32_t trap)
{
	struct metered *m = metered_at(k, trap);

	if (m->state != METERED_STANDING)
		return false;
	if (!m->hits++)
		end_of_doubt(k, m);
	m->calm_hits += k->budget.counts;
	if (m->left && !--m->left) {
		if (!lift(k, trap, true))
			return false;
		wait_until(k, trap, m->round_end_ns);
		return true;
	}
	if ((k->budget.open && k->nqueue < CROWD) || !lift(k, trap, false))
		return false;
	if (k->budget.open)
		wait_until(k, trap, k->now_ns + CROWD_NS / 2 + random_below(&k->metering, CROWD_NS));
	else
		shut(k, trap);
	return true;
}

void metering_stepped(struct keeper *k, uint32_t trap)
{
	const struct trap *t = &k->traps.all[trap];

	if (metered_at(k, trap)->state != METERED_STANDING || t->state != TRAP_LIFTED || t->steppers)
		return;
	end_stretch(k, trap, false);
	stand_aside(k, trap);
}

void metering_modules(struct keeper *k)
{
	if (!k->budget.on)
		return;
	if (!k->traps.frozen)
		atomic_store(&k->shared->moving_since_ns, k->now_ns);
	trap_freeze(&k->traps);
	atomic_fetch_add(&k->shared->modules_told, 1);
}

/* --- the controller's wishes --- */

/* At the latest as soon as a new site's: within a period. */
static void come_sooner(struct keeper *k, uint32_t i)
{
	struct metered *m = metered_at(k, i);
	uint64_t at = k->now_ns + random_below(&k->metering, period_ns(k, i));

	if (m->state == METERED_SHUT || m->round_end_ns <= at)
		return;
	m->round_end_ns = at;
	if (k->metering.due.at_ns[i] > at)
		due_set(&k->metering.due, i, at);
}

static void take_in(struct keeper *k, uint32_t i)
{
	struct metered *m = metered_at(k, i);

	*m = (struct metered){ .state = METERED_WAITING };
	m->round_end_ns = k->now_ns + random_below(&k->metering, period_ns(k, i));
	due_set(&k->metering.due, i, m->round_end_ns);
}

/* It stands, and shall be metered from now on. */
static void take_over(struct keeper *k, uint32_t i)
{
	begin_round(k, i);
	plant(k, i);
}

int metering_plant(struct keeper *k, uint32_t i)
{
	const struct site *site = &k->shared->sites[i];
	bool known = trap_find(&k->traps, site->addr) == i && k->traps.all[i].state != TRAP_REFUSED;
	bool wanted = k->budget.on && period_ns(k, i);
	int r;

	if (!wanted && !known)
		return trap_plant(&k->traps, k->mem, i, site);
	/* its turn came before the command did: it stands for good already */
	if (!wanted && metered_at(k, i)->state == METERED_NOT)
		return k->budget.on ? 0 : -EEXIST;
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
	/* unmapped: since when nothing could be seen there is not known */
	if (metered_at(k, i)->state == METERED_STANDING && !trap_is_lost(&k->traps, k->mem, i))
		end_stretch(k, i, false);
	release(k, i);
}

void metering_forget_all(struct keeper *k)
{
	for (uint32_t i = 0; i < k->traps.bound; i++)
		metering_forget(k, i);
}

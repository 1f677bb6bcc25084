/* SPDX-License-Identifier: MIT */
#include "attach/keeper/budget/metering.h"

#include <errno.h>

#include "attach/keeper/budget/metering_parts.h"
#include "attach/keeper/budget/stretches.h"
#include "attach/keeper/notify.h"
#include "base/random.h"

#define TURNS 16		/* sites that are served in one iteration of the loop */
/* sites that are due are looked at about twice as often: not a timer for each, as hundreds may be planted */
#define LOOK_NS 8000000ull
#define CLOSED_NS 10000000ull	/* and the token bucket, while it fills */
/* if so many threads are stopped at once, no more shall hit this trap for a moment */
#define CROWD 4
#define CROWD_NS (2 * METER_AWAY_NS)
#define READY_NS 500000000ull	/* a READY site may have priority by now: checked so often */
#define LATE_NS 60000000000ull	/* a round that has waited for so long counts as one that cannot wait */
#define HOT_TURN_NS 20000000ull
#define OPENING_NS 10000000ull	/* all sites that were shut begin within so long, */
/* or, those that may be hot, within so long: else all threads would be stopped at one after the other */
#define OPENING_HOT_NS 400000000ull

_Static_assert(DUE_MAX == SHARED_SITES, "every site can have a turn");

struct metered *metered_at(struct keeper *k, uint32_t i)
{
	return &k->budget.metering.all[i];
}

uint64_t metered_period_ns(const struct keeper *k, uint32_t i)
{
	return atomic_load_explicit(&k->shared->meters[i].period_ms, memory_order_relaxed) * 1000000ull;
}

static uint32_t quota_of(const struct keeper *k, uint32_t i)
{
	return atomic_load_explicit(&k->shared->meters[i].quota, memory_order_relaxed);
}

bool metered_goes_ahead(const struct keeper *k, uint32_t i)
{
	return atomic_load_explicit(&k->shared->meters[i].ahead, memory_order_relaxed);
}

static void complain(struct keeper *k, enum trouble what, int r)
{
	if (r < 0)
		notify_record(k, RECORD_TROUBLE, 0, k->target, what, -r);
}

bool metering_may_plant(const struct keeper *k)
{
	return k->budget.cost.open && !k->traps.frozen;
}

/* --- exposure intervals and rounds --- */

static void begin_stretch(struct keeper *k, uint32_t i)
{
	struct metered *m = metered_at(k, i);

	m->state = METERED_STANDING;
	stretches_begin(k, i);
	due_set(&k->budget.metering.due, i, m->round_end_ns < k->now_ns + METER_STRETCH_NS ? m->round_end_ns : k->now_ns + METER_STRETCH_NS);
}

/* No more hits of this round will come. */
static void settle(struct keeper *k, uint32_t i)
{
	struct metered *m = metered_at(k, i);

	turns_paid(&k->budget.metering.turns, m->owed);
	m->owed = 0;
}

void metered_begin_round(struct keeper *k, uint32_t i)
{
	struct metered *m = metered_at(k, i);
	uint64_t period = metered_period_ns(k, i);

	settle(k, i);
	m->full = false;
	m->quota = quota_of(k, i);
	m->left = m->quota;
	m->round_end_ns = k->now_ns + period * 3 / 4 + random_below(&k->budget.metering.random, period / 2 + 1);
}

void metered_release(struct keeper *k, uint32_t i)
{
	settle(k, i);
	metered_at(k, i)->state = METERED_NOT;
	due_drop(&k->budget.metering.due, i);
	turns_drop(&k->budget.metering.turns, i);
}

void metered_wait_until(struct keeper *k, uint32_t i, uint64_t at_ns)
{
	metered_at(k, i)->state = METERED_WAITING;
	turns_drop(&k->budget.metering.turns, i);
	due_set(&k->budget.metering.due, i, at_ns);
}

static void be_ready(struct keeper *k, uint32_t i)
{
	if (metered_at(k, i)->state != METERED_READY)
		turns_wait(&k->budget.metering.turns, i, k->now_ns);
	settle(k, i);
	metered_at(k, i)->state = METERED_READY;
	/* meanwhile, the controller may give it priority */
	due_set(&k->budget.metering.due, i, k->now_ns + READY_NS);
}

static void shut(struct keeper *k, uint32_t i)
{
	metered_at(k, i)->state = METERED_SHUT;
	due_drop(&k->budget.metering.due, i);
	turns_drop(&k->budget.metering.turns, i);
}

/* It could not be planted: the code there was changed (try again later), or nothing may be planted now. */
static void stand_aside(struct keeper *k, uint32_t i)
{
	k->traps.all[i].shelved = true;
	if (k->traps.frozen)
		shut(k, i);
	else
		metered_wait_until(k, i, metered_at(k, i)->round_end_ns);
}

static bool stands_hot(const struct keeper *k, uint32_t i)
{
	const struct metered *m = &k->budget.metering.all[i];

	return m->hot && m->state == METERED_STANDING && k->now_ns < m->began_ns + HOT_TURN_NS;
}

/* One hot site at a time: a thread that is stopped at the traps of others does not reach this one. */
static bool waits_its_turn(struct keeper *k, uint32_t i)
{
	struct metering *m = &k->budget.metering;

	if (!metered_at(k, i)->hot || !k->traps.all[i].shelved)
		return false;
	if (m->hot != i && stands_hot(k, m->hot)) {
		metered_wait_until(k, i, k->now_ns + random_below(&m->random, HOT_TURN_NS));
		return true;
	}
	m->hot = i;
	return false;
}

void metered_plant(struct keeper *k, uint32_t i)
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

/* false: it is still planted. Its state is the caller's to set. */
static bool lift(struct keeper *k, uint32_t i, bool full)
{
	int r = trap_shelve(&k->traps, k->mem, i);

	complain(k, TROUBLE_LIFT, r);
	if (r < 0)
		return false;
	stretches_end(k, i, full);
	return true;
}

/* --- sites that are due --- */

static bool must_be_paid_for(const struct keeper *k, uint32_t i)
{
	const struct metered *m = &k->budget.metering.all[i];

	return (m->full || m->hot) && k->traps.all[i].shelved && !metered_goes_ahead(k, i);
}

/* It is to be planted: in the same round, in the next one, or for good. */
static void go_on(struct keeper *k, uint32_t i)
{
	if (k->now_ns < metered_at(k, i)->round_end_ns) {
		metered_plant(k, i);
	} else if (metered_period_ns(k, i) && must_be_paid_for(k, i)) {
		be_ready(k, i);
	} else if (metered_period_ns(k, i)) {
		turns_drop(&k->budget.metering.turns, i);
		metered_begin_round(k, i);
		metered_plant(k, i);
	} else {
		metered_release(k, i);
		complain(k, TROUBLE_PLANT, trap_unshelve(&k->traps, k->mem, i));
	}
}

static void turn_of_lifted(struct keeper *k, uint32_t i)
{
	if (metered_at(k, i)->state == METERED_READY && must_be_paid_for(k, i))
		be_ready(k, i);
	else if (metering_may_plant(k))
		go_on(k, i);
	else
		shut(k, i);
}

static void turn_of_standing(struct keeper *k, uint32_t i)
{
	if (!k->budget.cost.open && lift(k, i, false)) {
		shut(k, i);
		return;
	}
	/* if its module was loaded again, it is not known since when the trap was lost */
	if (!trap_is_lost(&k->traps, k->mem, i))
		stretches_end(k, i, false);
	/* hits that did not come in a whole interval are no longer owed: rounds of other sites may begin */
	settle(k, i);
	go_on(k, i);
}

static void take_turns(struct keeper *k)
{
	struct due *d = &k->budget.metering.due;

	for (int n = 0; n < TURNS; n++) {
		uint32_t i = due_first(d);

		if (i == DUE_NONE || d->at_ns[i] > k->now_ns)
			return;
		k->budget.metering.look_ns = k->now_ns + random_below(&k->budget.metering.random, LOOK_NS);
		if (metered_at(k, i)->state == METERED_STANDING)
			turn_of_standing(k, i);
		else
			turn_of_lifted(k, i);
	}
	/* there are more that are due */
	k->budget.metering.look_ns = k->now_ns;
}

/* Begin the round of the first READY site, if it is paid for; none while a hot site is planted. */
static void take_ready(struct keeper *k)
{
	struct metering *m = &k->budget.metering;
	uint32_t i = metering_may_plant(k) ? turns_first(&m->turns, k->now_ns) : DUE_NONE;
	uint64_t chance_ns = random_below(&m->random, TURNS_CHANCE_NS);
	struct turns_purse purse;
	uint32_t hits;

	if (i == DUE_NONE)
		return;
	if (stands_hot(k, m->hot)) {
		m->turns.look_ns = k->now_ns + chance_ns;
		return;
	}
	cost_spare(k, k->now_ns > m->turns.waiting.at_ns[i] + LATE_NS, &purse);
	hits = quota_of(k, i);
	if (!turns_begin(&m->turns, k->now_ns, hits, &purse, chance_ns))
		return;
	metered_begin_round(k, i);
	metered_at(k, i)->owed = hits;
	metered_plant(k, i);
}

/* It is due at a random time within @ns. */
static void begin_within(struct keeper *k, uint32_t i, uint64_t ns)
{
	struct metering *m = &k->budget.metering;

	due_set(&m->due, i, k->now_ns + random_below(&m->random, ns));
}

/* WAITING sites keep waiting. On closing, planted sites are due now; on opening, shut ones soon. */
static void open_or_close(struct keeper *k)
{
	for (uint32_t i = 0; i < k->traps.bound; i++) {
		uint8_t state = metered_at(k, i)->state;

		if (!k->budget.cost.open && state == METERED_STANDING)
			due_set(&k->budget.metering.due, i, k->now_ns);
		if (metering_may_plant(k) && state == METERED_SHUT)
			begin_within(k, i, quota_of(k, i) ? OPENING_HOT_NS : OPENING_NS);
	}
}

/* true: the controller has looked at the modules. */
static bool modules_settled(struct keeper *k)
{
	uint32_t failed;

	if (!k->traps.frozen || shared_modules_move(k->shared))
		return false;
	failed = trap_thaw(&k->traps, k->mem);
	complain(k, TROUBLE_PLANT, failed ? -EIO : 0);
	atomic_fetch_add(&k->shared->modules.ns, k->now_ns - atomic_exchange(&k->shared->modules.since_ns, 0));
	return true;
}

void metering_round(struct keeper *k)
{
	if (!k->paid)
		return;
	/* both, each time */
	if (cost_round(k) | modules_settled(k))
		open_or_close(k);
	if (pace_due(&k->budget.metering.pace, k->now_ns))
		pace_note(&k->budget.metering.pace, k->now_ns, (struct pace_mark){ calm_ns(&k->budget.cost.calm, keeper_clock_ns()), cost_work_ns(k) });
	if (k->leave_reason)
		return;
	take_turns(k);
	take_ready(k);
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t metering_patience(const struct keeper *k, uint64_t max_ns)
{
	const struct metering *m = &k->budget.metering;
	uint32_t i = due_first(&m->due);
	uint64_t at = k->now_ns + max_ns;

	if (!k->paid)
		return max_ns;
	if (!metering_may_plant(k))
		at = sooner(at, k->now_ns + CLOSED_NS);
	else if (m->turns.waiting.n)
		at = sooner(at, m->turns.look_ns);
	if (i != DUE_NONE)
		at = sooner(at, m->due.at_ns[i] > m->look_ns ? m->due.at_ns[i] : m->look_ns);
	return at > k->now_ns ? at - k->now_ns : 0;
}

/* --- hits --- */

void metering_note(struct keeper *k, uint32_t trap)
{
	if (metered_at(k, trap)->state != METERED_NOT)
		k->budget.cost.metered = true;
}

/* One more hit of the round: is it the last one of the quota? */
static bool is_last(struct keeper *k, struct metered *m)
{
	if (m->owed) {
		turns_paid(&k->budget.metering.turns, 1);
		m->owed--;
	}
	return m->left && !--m->left;
}

bool metering_hit(struct keeper *k, uint32_t trap)
{
	struct metered *m = metered_at(k, trap);

	if (m->state != METERED_STANDING)
		return false;
	stretches_hit(k, trap);
	if (is_last(k, m)) {
		if (!lift(k, trap, true))
			return false;
		metered_wait_until(k, trap, m->round_end_ns);
		return true;
	}
	if ((k->budget.cost.open && k->nqueue < CROWD) || !lift(k, trap, false))
		return false;
	if (k->budget.cost.open)
		metered_wait_until(k, trap,
				   k->now_ns + CROWD_NS / 2 + random_below(&k->budget.metering.random, CROWD_NS));
	else
		shut(k, trap);
	return true;
}

void metering_miss(struct keeper *k, uint32_t trap)
{
	uint8_t state = metered_at(k, trap)->state;

	/* a hit that ended a quiet time was not part of a burst: a moment later it would have met no trap */
	if (state != METERED_NOT && state != METERED_STANDING && !k->budget.cost.counts)
		meter_miss(&k->shared->meters[trap]);
}

void metering_stepped(struct keeper *k, uint32_t trap)
{
	const struct trap *t = &k->traps.all[trap];

	if (metered_at(k, trap)->state != METERED_STANDING || t->state != TRAP_LIFTED || t->steppers)
		return;
	stretches_end(k, trap, false);
	stand_aside(k, trap);
}

void metering_modules(struct keeper *k)
{
	if (!k->paid)
		return;
	if (!k->traps.frozen)
		atomic_store(&k->shared->modules.since_ns, k->now_ns);
	trap_freeze(&k->traps);
	atomic_fetch_add(&k->shared->modules.told, 1);
}

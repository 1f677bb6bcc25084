/* SPDX-License-Identifier: MIT */
#include "attach/keeper/budget/trap_rounds.h"

#include <errno.h>

#include "attach/keeper/budget/exposure_spans.h"
#include "attach/keeper/budget/trap_rounds_parts.h"
#include "attach/keeper/notify.h"
#include "base/random.h"

#define ROUNDS_AT_ONCE 16		/* sites that are served in one iteration of the loop */
/* sites that are due are looked at about twice as often: not a timer for each, as hundreds may be planted */
#define LOOK_NS 8000000ull
#define CLOSED_NS 10000000ull	/* and the token bucket, while it fills */
/* if so many threads are stopped at once, no more shall hit this trap for a moment */
#define CROWD 4
#define CROWD_NS (2 * SITE_STATS_AWAY_NS)
#define READY_NS 500000000ull	/* a READY site may have priority by now: checked so often */
#define LATE_NS 60000000000ull	/* a round that has waited for so long gets more (cost_spare, late) */
#define HOT_ROUND_NS 20000000ull	/* for at most so long another hot site waits for it */
/*
 * when the budget opens, sites that were shut begin within so long; or, if they may be hot, within the longer
 * time: else a thread would be stopped at one after the other
 */
#define OPENING_NS 10000000ull
#define OPENING_HOT_NS 400000000ull

_Static_assert(TIME_HEAP_MAX == SHARED_SITES, "every site can be in the heap");

struct trap_round *trap_round_at(struct keeper *k, uint32_t i)
{
	return &k->budget.rounds.all[i];
}

uint64_t trap_round_period_ns(const struct keeper *k, uint32_t i)
{
	return atomic_load_explicit(&k->shared->meters[i].period_ms, memory_order_relaxed) * 1000000ull;
}

static uint32_t quota_of(const struct keeper *k, uint32_t i)
{
	return atomic_load_explicit(&k->shared->meters[i].quota, memory_order_relaxed);
}

bool trap_round_has_priority(const struct keeper *k, uint32_t i)
{
	return atomic_load_explicit(&k->shared->meters[i].ahead, memory_order_relaxed);
}

static void report_trouble(struct keeper *k, enum trouble what, int r)
{
	if (r < 0)
		notify_record(k, RECORD_TROUBLE, 0, k->target, what, -r);
}

bool trap_rounds_may_plant(const struct keeper *k)
{
	return k->budget.cost.open && !k->traps.frozen;
}

/* --- exposure intervals and rounds --- */

static void begin_span(struct keeper *k, uint32_t i)
{
	struct trap_round *m = trap_round_at(k, i);

	m->state = ROUND_PLANTED;
	exposure_spans_begin(k, i);
	time_heap_set(&k->budget.rounds.due, i,
		      m->round_end_ns < k->now_ns + SITE_STATS_SPAN_NS ? m->round_end_ns
								       : k->now_ns + SITE_STATS_SPAN_NS);
}

/* No more hits of this round are expected. */
static void settle(struct keeper *k, uint32_t i)
{
	struct trap_round *m = trap_round_at(k, i);

	round_queue_paid(&k->budget.rounds.queue, m->owed);
	m->owed = 0;
}

void trap_round_begin_round(struct keeper *k, uint32_t i)
{
	struct trap_round *m = trap_round_at(k, i);
	uint64_t period = trap_round_period_ns(k, i);

	settle(k, i);
	m->full = false;
	m->quota = quota_of(k, i);
	m->left = m->quota;
	m->round_end_ns = k->now_ns + period * 3 / 4 + random_below(&k->budget.rounds.random, period / 2 + 1);
}

void trap_round_release(struct keeper *k, uint32_t i)
{
	settle(k, i);
	trap_round_at(k, i)->state = ROUND_NONE;
	time_heap_drop(&k->budget.rounds.due, i);
	round_queue_drop(&k->budget.rounds.queue, i);
}

void trap_round_wait_until(struct keeper *k, uint32_t i, uint64_t at_ns)
{
	trap_round_at(k, i)->state = ROUND_WAITING;
	round_queue_drop(&k->budget.rounds.queue, i);
	time_heap_set(&k->budget.rounds.due, i, at_ns);
}

static void make_ready(struct keeper *k, uint32_t i)
{
	if (trap_round_at(k, i)->state != ROUND_READY)
		round_queue_wait(&k->budget.rounds.queue, i, k->now_ns);
	settle(k, i);
	trap_round_at(k, i)->state = ROUND_READY;
	/* meanwhile, the controller may give it priority */
	time_heap_set(&k->budget.rounds.due, i, k->now_ns + READY_NS);
}

static void shut(struct keeper *k, uint32_t i)
{
	trap_round_at(k, i)->state = ROUND_SHUT;
	time_heap_drop(&k->budget.rounds.due, i);
	round_queue_drop(&k->budget.rounds.queue, i);
}

/*
 * It could not be planted: the code there was changed (then it is tried again later), or nothing may be
 * planted now.
 */
static void lift_for_now(struct keeper *k, uint32_t i)
{
	k->traps.all[i].shelved = true;
	if (k->traps.frozen)
		shut(k, i);
	else
		trap_round_wait_until(k, i, trap_round_at(k, i)->round_end_ns);
}

static bool hot_is_planted(const struct keeper *k, uint32_t i)
{
	const struct trap_round *m = &k->budget.rounds.all[i];

	return m->hot && m->state == ROUND_PLANTED && k->now_ns < m->began_ns + HOT_ROUND_NS;
}

/* One hot site at a time: a thread that is stopped at the traps of others does not reach this one. */
static bool is_queued(struct keeper *k, uint32_t i)
{
	struct trap_rounds *m = &k->budget.rounds;

	if (!trap_round_at(k, i)->hot || !k->traps.all[i].shelved)
		return false;
	if (m->hot != i && hot_is_planted(k, m->hot)) {
		trap_round_wait_until(k, i, k->now_ns + random_below(&m->random, HOT_ROUND_NS));
		return true;
	}
	m->hot = i;
	return false;
}

void trap_round_plant(struct keeper *k, uint32_t i)
{
	int r;

	if (is_queued(k, i))
		return;
	r = trap_unshelve(&k->traps, k->mem, i);
	report_trouble(k, TROUBLE_PLANT, r);
	if (k->traps.all[i].state == TRAP_PLANTED || k->traps.all[i].steppers) {
		begin_span(k, i);
		return;
	}
	lift_for_now(k, i);
}

/* false: it is still planted. Its state is the caller's to set. */
static bool lift(struct keeper *k, uint32_t i, bool full)
{
	int r = trap_shelve(&k->traps, k->mem, i);

	report_trouble(k, TROUBLE_LIFT, r);
	if (r < 0)
		return false;
	exposure_spans_end(k, i, full);
	return true;
}

/* --- sites that are due --- */

static bool must_be_paid_for(const struct keeper *k, uint32_t i)
{
	const struct trap_round *m = &k->budget.rounds.all[i];

	return (m->full || m->hot) && k->traps.all[i].shelved && !trap_round_has_priority(k, i);
}

/* It is to be planted: in the same round, in the next one, or for good. */
static void plant_or_queue(struct keeper *k, uint32_t i)
{
	if (k->now_ns < trap_round_at(k, i)->round_end_ns) {
		trap_round_plant(k, i);
	} else if (trap_round_period_ns(k, i) && must_be_paid_for(k, i)) {
		make_ready(k, i);
	} else if (trap_round_period_ns(k, i)) {
		round_queue_drop(&k->budget.rounds.queue, i);
		trap_round_begin_round(k, i);
		trap_round_plant(k, i);
	} else {
		trap_round_release(k, i);
		report_trouble(k, TROUBLE_PLANT, trap_unshelve(&k->traps, k->mem, i));
	}
}

static void round_of_lifted(struct keeper *k, uint32_t i)
{
	if (trap_round_at(k, i)->state == ROUND_READY && must_be_paid_for(k, i))
		make_ready(k, i);
	else if (trap_rounds_may_plant(k))
		plant_or_queue(k, i);
	else
		shut(k, i);
}

static void round_of_planted(struct keeper *k, uint32_t i)
{
	if (!k->budget.cost.open && lift(k, i, false)) {
		shut(k, i);
		return;
	}
	/* if its module was loaded again, it is not known since when the trap was lost */
	if (!trap_is_lost(&k->traps, k->mem, i))
		exposure_spans_end(k, i, false);
	/* what was not hit in a whole interval is no longer owed: rounds of other sites may begin */
	settle(k, i);
	plant_or_queue(k, i);
}

static void begin_rounds(struct keeper *k)
{
	struct time_heap *d = &k->budget.rounds.due;

	for (int n = 0; n < ROUNDS_AT_ONCE; n++) {
		uint32_t i = time_heap_first(d);

		if (i == TIME_HEAP_NONE || d->at_ns[i] > k->now_ns)
			return;
		k->budget.rounds.look_ns = k->now_ns + random_below(&k->budget.rounds.random, LOOK_NS);
		if (trap_round_at(k, i)->state == ROUND_PLANTED)
			round_of_planted(k, i);
		else
			round_of_lifted(k, i);
	}
	/* there are more that are due */
	k->budget.rounds.look_ns = k->now_ns;
}

/* Begin the round of the first READY site, if it is paid for; none while a hot site's trap is planted. */
static void begin_ready(struct keeper *k)
{
	struct trap_rounds *m = &k->budget.rounds;
	uint32_t i = trap_rounds_may_plant(k) ? round_queue_first(&m->queue, k->now_ns) : TIME_HEAP_NONE;
	uint64_t chance_ns = random_below(&m->random, ROUND_QUEUE_CHANCE_NS);
	struct round_queue_tokens tokens;
	uint32_t hits;

	if (i == TIME_HEAP_NONE)
		return;
	if (hot_is_planted(k, m->hot)) {
		m->queue.look_ns = k->now_ns + chance_ns;
		return;
	}
	cost_spare(k, k->now_ns > m->queue.waiting.at_ns[i] + LATE_NS, &tokens);
	hits = quota_of(k, i);
	if (!round_queue_begin(&m->queue, k->now_ns, hits, &tokens, chance_ns))
		return;
	trap_round_begin_round(k, i);
	trap_round_at(k, i)->owed = hits;
	trap_round_plant(k, i);
}

/* It is due at a random time within @ns. */
static void begin_within(struct keeper *k, uint32_t i, uint64_t ns)
{
	struct trap_rounds *m = &k->budget.rounds;

	time_heap_set(&m->due, i, k->now_ns + random_below(&m->random, ns));
}

/* WAITING sites keep waiting. On closing, planted sites are due now; on opening, shut ones soon. */
static void open_or_close(struct keeper *k)
{
	for (uint32_t i = 0; i < k->traps.bound; i++) {
		uint8_t state = trap_round_at(k, i)->state;

		if (!k->budget.cost.open && state == ROUND_PLANTED)
			time_heap_set(&k->budget.rounds.due, i, k->now_ns);
		if (trap_rounds_may_plant(k) && state == ROUND_SHUT)
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
	report_trouble(k, TROUBLE_PLANT, failed ? -EIO : 0);
	atomic_fetch_add(&k->shared->modules.ns,
			 k->now_ns - atomic_exchange(&k->shared->modules.since_ns, 0));
	return true;
}

void trap_rounds_run(struct keeper *k)
{
	if (!k->paid)
		return;
	/* both, each time */
	if (cost_round(k) | modules_settled(k))
		open_or_close(k);
	if (exposure_due(&k->budget.rounds.exposure, k->now_ns))
		exposure_add_mark(&k->budget.rounds.exposure, k->now_ns, (struct exposure_mark){
			quiet_clock_ns(&k->budget.cost.quiet, keeper_clock_ns()), cost_work_ns(k),
		});
	if (k->leave_reason)
		return;
	begin_rounds(k);
	begin_ready(k);
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t trap_rounds_timeout(const struct keeper *k, uint64_t max_ns)
{
	const struct trap_rounds *m = &k->budget.rounds;
	uint32_t i = time_heap_first(&m->due);
	uint64_t at = k->now_ns + max_ns;

	if (!k->paid)
		return max_ns;
	if (!trap_rounds_may_plant(k))
		at = sooner(at, k->now_ns + CLOSED_NS);
	else if (m->queue.waiting.n)
		at = sooner(at, m->queue.look_ns);
	if (i != TIME_HEAP_NONE)
		at = sooner(at, m->due.at_ns[i] > m->look_ns ? m->due.at_ns[i] : m->look_ns);
	return at > k->now_ns ? at - k->now_ns : 0;
}

/* --- hits --- */

void trap_rounds_note(struct keeper *k, uint32_t trap)
{
	if (trap_round_at(k, trap)->state != ROUND_NONE)
		k->budget.cost.round = true;
}

/* One more hit of the round: is it the last one of the quota? */
static bool is_last(struct keeper *k, struct trap_round *m)
{
	if (m->owed) {
		round_queue_paid(&k->budget.rounds.queue, 1);
		m->owed--;
	}
	return m->left && !--m->left;
}

bool trap_rounds_hit(struct keeper *k, uint32_t trap)
{
	struct trap_round *m = trap_round_at(k, trap);

	if (m->state != ROUND_PLANTED)
		return false;
	exposure_spans_hit(k, trap);
	if (is_last(k, m)) {
		if (!lift(k, trap, true))
			return false;
		trap_round_wait_until(k, trap, m->round_end_ns);
		return true;
	}
	if ((k->budget.cost.open && k->nqueue < CROWD) || !lift(k, trap, false))
		return false;
	if (k->budget.cost.open)
		trap_round_wait_until(
			k, trap, k->now_ns + CROWD_NS / 2 + random_below(&k->budget.rounds.random, CROWD_NS));
	else
		shut(k, trap);
	return true;
}

void trap_rounds_miss(struct keeper *k, uint32_t trap)
{
	uint8_t state = trap_round_at(k, trap)->state;

	/* a hit that ended a quiet time was not part of a burst: a moment later it would have met no trap */
	if (state != ROUND_NONE && state != ROUND_PLANTED && !k->budget.cost.counts)
		site_stats_miss(&k->shared->meters[trap]);
}

void trap_rounds_stepped(struct keeper *k, uint32_t trap)
{
	const struct trap *t = &k->traps.all[trap];

	if (trap_round_at(k, trap)->state != ROUND_PLANTED || t->state != TRAP_LIFTED || t->steppers)
		return;
	exposure_spans_end(k, trap, false);
	lift_for_now(k, trap);
}

void trap_rounds_modules(struct keeper *k)
{
	if (!k->paid)
		return;
	if (!k->traps.frozen)
		atomic_store(&k->shared->modules.since_ns, k->now_ns);
	trap_freeze(&k->traps);
	atomic_fetch_add(&k->shared->modules.reported, 1);
}

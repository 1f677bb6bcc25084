/* SPDX-License-Identifier: MIT */
#include "attach/keeper/budget/budget.h"

#include <fcntl.h>
#include <time.h>

#include "attach/keeper/procfs.h"
#include "attach/keeper/state.h"

#define FADE_NS 1000000000ull	/* the largest burst is forgotten by 1/32 so often */
#define FIRST_BURST 8		/* stops: as long as nothing is known */
#define PPM_NS (TEN_SECONDS_NS / 1000000)
#define MARGIN 10		/* this part of the promise is kept for a single delay of ours that is longer than any before */

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static uint64_t read_delay(const struct budget *b)
{
	struct procfs_turns turns;

	return procfs_turns_at(b->schedstat, &turns) ? turns.waited_ns : b->delay_ns;
}

static uint64_t stop_ns(const struct budget *b)
{
	return b->latency.wake_ns + b->latency.restart_ns;
}

/* All threads of it together; those that run now are asked. 0: it has ended. */
static uint64_t target_cpu_ns(const struct keeper *k)
{
	/* how the kernel numbers the clock of a process, CPUCLOCK_SCHED */
	const clockid_t clock = (clockid_t)(~(unsigned)k->target << 3 | 2);
	struct timespec t;

	return k->target && clock_gettime(clock, &t) == 0 ? (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec : 0;
}

static struct calm_time now_by_both(const struct keeper *k, uint64_t at_ns)
{
	return (struct calm_time){ at_ns, target_cpu_ns(k) };
}

uint64_t budget_work_ns(const struct keeper *k)
{
	return calm_work_ns(&k->budget.calm, target_cpu_ns(k));
}

void budget_init(struct keeper *k)
{
	struct budget *b = &k->budget;

	b->on = k->shared->budget_ppm;
	if (!b->on)
		return;
	latency_measure(&b->latency);
	standing_begin(&b->standing, &b->latency);
	b->schedstat = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
	b->delay_ns = read_delay(b);
	k->now_ns = keeper_clock_ns();
	spending_init(&b->spending, k->shared->budget_ppm, k->now_ns);
	b->meters_ns = stop_ns(b);
	spending_init(&b->holds, k->shared->budget_ppm / BUDGET_HOLDS, k->now_ns);
	b->hold_ns = (uint64_t)least(b->holds.purse_most_ns / 3, BUDGET_HOLD_NS);
	b->asked_ns = k->now_ns;
	b->most_burst_ns = FIRST_BURST * stop_ns(b);
	b->open = true;
	atomic_store(&k->shared->open, 1);
	b->calm.stop_cpu_ns = b->latency.cpu_ns;
	calm_begin(&b->calm, 0, now_by_both(k, k->now_ns));
}

/* --- when a stop began --- */

void budget_woken(struct keeper *k, pid_t tid, uint64_t slept_ns)
{
	struct budget *b = &k->budget;
	uint64_t delay, late, before, asked = b->asked_ns;

	if (!b->on)
		return;
	delay = read_delay(b);
	late = delay - b->delay_ns;
	before = late + b->latency.wake_ns;
	b->delay_ns = delay;
	b->likely_ns = k->now_ns - asked < before ? asked : k->now_ns - before;
	/* the signal was there already: it may have stopped at any time since we asked */
	b->found_ns = k->now_ns - slept_ns < b->latency.wake_ns ? asked : b->likely_ns;
	b->woken_by = tid;
	b->woken_ns = k->now_ns;
	/* whether we slept is not to be told by what is learned from that */
	b->awake_ns = k->now_ns - slept_ns < late + b->standing.shown.wake_ns ? 0 : k->now_ns - late;
}

void budget_idle(struct keeper *k)
{
	/* what we have waited for a processor so far nobody has waited for */
	k->budget.delay_ns = read_delay(&k->budget);
	k->budget.asked_ns = k->now_ns;
}

/* --- what it cost --- */

void budget_hit(struct keeper *k, const struct tracee *t)
{
	struct budget *b = &k->budget;
	uint64_t seen = t->tid == b->woken_by && t->seen_ns == b->woken_ns ? b->awake_ns : 0;
	struct procfs_turns turns;

	/* others stand, too: they are served first */
	if (k->nqueue == 1 && standing_wants(&b->standing, t->tid) && procfs_turns(k->target, t->tid, &turns))
		standing_stopped(&b->standing, t->tid, &turns, seen, &b->latency);
}

void budget_goes_on(struct keeper *k, pid_t tid)
{
	standing_goes_on(&k->budget.standing, tid, keeper_clock_ns());
}

void budget_serve(struct keeper *k, const struct tracee *t)
{
	struct budget *b = &k->budget;

	b->metered = false;
	b->counts = b->calm.on && calm_end(&b->calm, t->tid, now_by_both(k, b->likely_ns));
}

void budget_pause(struct keeper *k)
{
	if (k->budget.calm.on)
		(void)calm_end(&k->budget.calm, 0, now_by_both(k, k->now_ns));
}

/* What one for a metered trap costs on average, of the last dozens. */
static void learn_stop(struct keeper *k, uint64_t ns)
{
	struct budget *b = &k->budget;

	b->meters_ns = (15 * b->meters_ns + ns) / 16;
	atomic_store_explicit(&k->shared->meters_ns, b->meters_ns, memory_order_relaxed);
}

void budget_charge(struct keeper *k, uint64_t since_ns, enum budget_for what)
{
	struct budget *b = &k->budget;
	uint64_t now = keeper_clock_ns(), ns;

	if (!b->on)
		return;
	ns = now - since_ns + b->latency.restart_ns;
	spending_take(&b->spending, ns, now);
	if (what == BUDGET_ASKED) {
		spending_take(&b->holds, ns, now);
		atomic_fetch_add_explicit(&k->shared->held_ns, ns, memory_order_relaxed);
	} else {
		/* attaching, which stops all that run, is the first example of what can come at once */
		b->burst_ns += ns;
	}
	if (what == BUDGET_METERS)
		learn_stop(k, ns);
	if (what == BUDGET_METERS && !b->open)
		b->late_ns += ns;
	if (what == BUDGET_ATTACHED && k->watching)
		ten_seconds_add(&b->attached, ns, now);
	atomic_fetch_add_explicit(&k->shared->spent_ns, ns, memory_order_relaxed);
	atomic_store_explicit(&k->shared->worst_ten_ppm, b->spending.had.worst_ns / PPM_NS, memory_order_relaxed);
}

void budget_calm(struct keeper *k, pid_t tid)
{
	struct budget *b = &k->budget;

	/* all threads are asked how long they have run: not without need */
	if (!b->calm.on)
		calm_begin(&b->calm, tid, now_by_both(k, keeper_clock_ns() + b->latency.restart_ns));
	if (b->burst_ns > b->most_burst_ns)
		b->most_burst_ns = b->burst_ns;
	b->burst_ns = 0;
}

/* --- whether traps may stand --- */

/* What @n holds may take together, to their ends. */
static int64_t holds_ns(const struct budget *b, uint32_t n)
{
	return (int64_t)(n * (b->hold_ns + stop_ns(b)));
}

/* Kept of the last ten seconds for what comes at once. */
static int64_t reserve_ns(const struct budget *b)
{
	int64_t burst = (int64_t)b->most_burst_ns * 3 / 2, margin = (int64_t)b->spending.promise_ns / MARGIN;

	return burst > margin ? burst : margin;
}

/* Bursts that are nearly as large as what may be spent at all must not close us for ever: then a full purse, or ten quiet seconds, must do. */
static bool is_spent(const struct keeper *k, struct budget *b, uint64_t now)
{
	struct spending *s = &b->spending;
	int64_t held = holds_ns(b, k->held);

	return spending_purse(s, now) < least((int64_t)b->most_burst_ns + held, s->purse_most_ns * 3 / 4) ||
	       spending_room(s, now) < least(reserve_ns(b) + held, s->promise_ns * 3 / 4);
}

/* A wish has no such claim. */
bool budget_may_hold(struct keeper *k)
{
	struct budget *b = &k->budget;
	uint64_t now = keeper_clock_ns();
	int64_t held = holds_ns(b, k->held + 1);

	return b->open && spending_purse(&b->holds, now) >= held && spending_purse(&b->spending, now) >= (int64_t)b->most_burst_ns + held &&
	       spending_room(&b->spending, now) >= reserve_ns(b) + held;
}

uint64_t budget_patience_ns(const struct keeper *k, const struct tracee *t)
{
	const struct budget *b = &k->budget;

	if (!b->on || !t->for_stack)
		return k->shared->hold_ns;
	return b->open ? b->hold_ns : 0;
}

/* Not more than a few are worth: what is hot waits for its part by itself (budget_spare), and the others shall not wait for that. */
static bool is_ample(struct budget *b, uint64_t now)
{
	struct spending *s = &b->spending;
	int64_t burst = b->most_burst_ns;

	return spending_purse(s, now) >= least(s->purse_most_ns / 8 + burst, s->purse_most_ns) &&
	       spending_room(s, now) >= least(reserve_ns(b) + burst / 2 + s->purse_most_ns / 8, s->promise_ns * 19 / 20);
}

void budget_spare(struct keeper *k, bool late, struct turns_purse *out)
{
	uint64_t now = keeper_clock_ns();
	struct spending *s = &k->budget.spending;
	int64_t burst = least(k->budget.most_burst_ns, s->purse_most_ns * 3 / 4);
	int64_t kept = late ? burst : (s->purse_most_ns + burst) / 2;
	int64_t purse = spending_purse(s, now) - kept, room = spending_room(s, now) - reserve_ns(&k->budget) - s->purse_most_ns / 8;

	*out = (struct turns_purse){
		.spare_ns = least(purse, room), .most_ns = s->purse_most_ns - kept, .ppm = SPENDING_FILL(s->ppm), .stop_ns = k->budget.meters_ns,
	};
}

static void set_open(struct keeper *k, bool open)
{
	struct budget *b = &k->budget;

	b->open = open;
	atomic_store(&k->shared->open, open);
	if (open) {
		uint64_t since = atomic_exchange(&k->shared->closed_since_ns, 0);

		atomic_fetch_add(&k->shared->closed_ns, k->now_ns - since);
		if (b->late_ns > b->most_burst_ns)
			b->most_burst_ns = b->late_ns;
		b->late_ns = 0;
		return;
	}
	atomic_store(&k->shared->closed_since_ns, k->now_ns);
	atomic_fetch_add(&k->shared->closed, 1);
}

bool budget_round(struct keeper *k)
{
	struct budget *b = &k->budget;
	uint64_t now = keeper_clock_ns();

	if (!b->on)
		return false;
	if (now >= b->next_fade_ns) {
		b->most_burst_ns -= b->most_burst_ns / 32;
		b->next_fade_ns = now + FADE_NS;
	}
	if (!k->leave_reason && ten_seconds_sum(&b->attached, now) > b->spending.promise_ns)
		k->leave_reason = LEFT_BUDGET;
	if (b->open ? !k->unheard && !is_spent(k, b, now) : k->unheard || !is_ample(b, now))
		return false;
	set_open(k, !b->open);
	return true;
}

/* SPDX-License-Identifier: MIT */
#include "attach/keeper/budget.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "attach/keeper/state.h"

#define FADE_NS 1000000000ull	/* the largest burst is forgotten by 1/32 so often */
#define FIRST_BURST 8		/* stops: as long as nothing is known */
#define PPM_NS (TEN_SECONDS_NS / 1000000)

static uint64_t read_delay(const struct budget *b)
{
	char text[128], *end;
	ssize_t n = b->schedstat < 0 ? -1 : pread(b->schedstat, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return b->delay_ns;
	text[n] = '\0';
	(void)strtoull(text, &end, 10);
	return strtoull(end, NULL, 10);
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
	b->schedstat = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
	b->delay_ns = read_delay(b);
	k->now_ns = keeper_clock_ns();
	spending_init(&b->spending, k->shared->budget_ppm, k->now_ns);
	b->asked_ns = k->now_ns;
	b->most_burst_ns = FIRST_BURST * stop_ns(b);
	b->open = true;
	atomic_store(&k->shared->open, 1);
	b->calm.stop_cpu_ns = b->latency.cpu_ns;
	calm_begin(&b->calm, 0, now_by_both(k, k->now_ns));
}

/* --- when a stop began --- */

void budget_woken(struct keeper *k, uint64_t slept_ns)
{
	struct budget *b = &k->budget;
	uint64_t delay, before, asked = b->asked_ns;

	if (!b->on)
		return;
	delay = read_delay(b);
	before = delay - b->delay_ns + b->latency.wake_ns;
	b->delay_ns = delay;
	b->likely_ns = k->now_ns - asked < before ? asked : k->now_ns - before;
	/* the signal was there already: it may have stopped at any time since we asked */
	b->found_ns = k->now_ns - slept_ns < b->latency.wake_ns ? asked : b->likely_ns;
}

void budget_idle(struct keeper *k)
{
	/* what we have waited for a processor so far nobody has waited for */
	k->budget.delay_ns = read_delay(&k->budget);
	k->budget.asked_ns = k->now_ns;
}

/* --- what it cost --- */

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

void budget_charge(struct keeper *k, uint64_t since_ns, enum budget_for what)
{
	struct budget *b = &k->budget;
	uint64_t now = keeper_clock_ns(), ns;

	if (!b->on)
		return;
	ns = now - since_ns + b->latency.restart_ns;
	spending_take(&b->spending, ns, now);
	/* attaching, which stops all that run, is the first example of what can come at once */
	if (what != BUDGET_ASKED)
		b->burst_ns += ns;
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

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Bursts that are nearly as large as what may be spent at all must not close us for ever: then a full purse, or ten quiet seconds, must do. */
static bool is_spent(struct budget *b, uint64_t now)
{
	struct spending *s = &b->spending;
	int64_t burst = b->most_burst_ns;

	return spending_purse(s, now) < least(burst, s->purse_most_ns * 3 / 4) ||
	       spending_room(s, now) < least(burst + burst / 2, s->promise_ns * 3 / 4);
}

static bool is_ample(struct budget *b, uint64_t now)
{
	struct spending *s = &b->spending;
	int64_t burst = b->most_burst_ns;

	return spending_purse(s, now) >= least(s->purse_most_ns / 2 + burst, s->purse_most_ns) &&
	       spending_room(s, now) >= least(2 * burst + s->purse_most_ns / 2, s->promise_ns * 19 / 20);
}

static void set_open(struct keeper *k, bool open)
{
	struct budget *b = &k->budget;

	b->open = open;
	atomic_store(&k->shared->open, open);
	if (open) {
		uint64_t since = atomic_exchange(&k->shared->closed_since_ns, 0);

		atomic_fetch_add(&k->shared->closed_ns, k->now_ns - since);
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
	if (b->open ? !is_spent(b, now) : !is_ample(b, now))
		return false;
	set_open(k, !b->open);
	return true;
}

/* SPDX-License-Identifier: MIT */
#include "attach/keeper/budget/cost.h"

#include <fcntl.h>
#include <time.h>

#include "attach/keeper/procfs.h"
#include "attach/keeper/state.h"

#define FADE_NS 1000000000ull	/* the largest burst shrinks by 1/32 so often */
#define FIRST_BURST 8		/* stops: as long as no burst is known */
#define PPM_NS (TEN_SECONDS_NS / 1000000)
/* the budget divided by this is reserved for a single delay of ours that is longer than any before */
#define MARGIN 10

static int64_t min_ns(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static uint64_t read_delay(const struct cost *c)
{
	struct procfs_slices slices;

	return procfs_slices_at(c->schedstat, &slices) ? slices.waited_ns : c->delay_ns;
}

static uint64_t stop_ns(const struct cost *c)
{
	return c->latency.wake_ns + c->latency.restart_ns;
}

/* CPU time of all its threads together, up to now also of those that run. 0: it has ended. */
static uint64_t target_cpu_ns(const struct keeper *k)
{
	/* how the kernel numbers the clock of a process, CPUCLOCK_SCHED */
	const clockid_t clock = (clockid_t)(~(unsigned)k->target << 3 | 2);
	struct timespec t;

	return k->target && clock_gettime(clock, &t) == 0
		       ? (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec
		       : 0;
}

static struct quiet_time now_by_both(const struct keeper *k, uint64_t at_ns)
{
	return (struct quiet_time){ at_ns, target_cpu_ns(k) };
}

uint64_t cost_work_ns(const struct keeper *k)
{
	return quiet_clock_work_ns(&k->budget.cost.quiet, target_cpu_ns(k));
}

void cost_init(struct keeper *k)
{
	struct cost *c = &k->budget.cost;

	k->paid = k->shared->budget_ppm;
	if (!k->paid)
		return;
	stop_cost_calibrate(&c->latency);
	stop_cost_learn_begin(&c->learned, &c->latency);
	c->schedstat = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
	c->delay_ns = read_delay(c);
	k->now_ns = keeper_clock_ns();
	token_bucket_init(&c->bucket, k->shared->budget_ppm, k->now_ns);
	c->trap_stop_ns = stop_ns(c);
	c->hold_ns = (uint64_t)min_ns(c->bucket.capacity_ns / COST_HOLDS, COST_HOLD_NS);
	k->began.asked_ns = k->now_ns;
	c->most_burst_ns = FIRST_BURST * stop_ns(c);
	c->open = true;
	atomic_store(&k->shared->budget.open, 1);
	c->quiet.stop_cpu_ns = c->latency.cpu_ns;
	quiet_clock_begin(&c->quiet, 0, now_by_both(k, k->now_ns));
}

/* --- when a stop began --- */

void cost_woken(struct keeper *k, pid_t tid, uint64_t slept_ns)
{
	struct cost *c = &k->budget.cost;
	uint64_t delay, late, before, asked = k->began.asked_ns;

	if (!k->paid)
		return;
	delay = read_delay(c);
	late = delay - c->delay_ns;
	before = late + c->latency.wake_ns;
	c->delay_ns = delay;
	k->began.likely_ns = k->now_ns - asked < before ? asked : k->now_ns - before;
	/* the signal was pending already: the thread may have stopped at any time since we asked */
	k->began.found_ns = k->now_ns - slept_ns < c->latency.wake_ns ? asked : k->began.likely_ns;
	c->woken_by = tid;
	c->woken_ns = k->now_ns;
	/* whether we slept must not depend on what is learned from awake_ns: so the child's figure is used */
	c->awake_ns = k->now_ns - slept_ns < late + c->learned.calibrated.wake_ns ? 0 : k->now_ns - late;
}

void cost_idle(struct keeper *k)
{
	/* no thread was stopped while we waited for a processor until now */
	k->budget.cost.delay_ns = read_delay(&k->budget.cost);
	k->began.asked_ns = k->now_ns;
}

/* --- what it cost --- */

void cost_hit(struct keeper *k, const struct tracee *t)
{
	struct cost *c = &k->budget.cost;
	uint64_t seen = t->tid == c->woken_by && t->seen_ns == c->woken_ns ? c->awake_ns : 0;
	struct procfs_slices slices;

	/* not if other threads are stopped, too: these are served first */
	if (k->nqueue == 1 && stop_cost_learn_wants(&c->learned, t->tid) &&
	    procfs_slices(k->target, t->tid, &slices))
		stop_cost_learn_stopped(&c->learned, t->tid, &slices, seen, &c->latency);
}

void cost_resumed(struct keeper *k, pid_t tid)
{
	stop_cost_learn_resumed(&k->budget.cost.learned, tid, keeper_clock_ns());
}

void cost_serve(struct keeper *k, const struct tracee *t)
{
	struct cost *c = &k->budget.cost;

	c->round = false;
	c->counts = c->quiet.on && quiet_clock_end(&c->quiet, t->tid, now_by_both(k, k->began.likely_ns));
}

void cost_pause(struct keeper *k)
{
	/* threads are stopped from now on, and not since they were asked last */
	k->began = (struct began){ k->now_ns, k->now_ns, k->now_ns };
	if (k->budget.cost.quiet.on)
		(void)quiet_clock_end(&k->budget.cost.quiet, 0, now_by_both(k, k->now_ns));
}

/* What comes meanwhile needs the rest. */
static uint64_t room_ns(struct keeper *k, uint64_t now_ns)
{
	const int64_t room = token_bucket_room(&k->budget.cost.bucket, now_ns);

	return room > 0 ? (uint64_t)room * 9 / 10 : 0;
}

uint32_t cost_asleep_ppm(const struct keeper *k)
{
	const uint32_t ppm = atomic_load_explicit(&k->shared->budget.asleep_ppm, memory_order_relaxed);

	return ppm && ppm < COST_ALL ? ppm : COST_ALL;
}

uint64_t cost_pause_ns(struct keeper *k, uint32_t awake)
{
	const uint64_t all = k->threads.used, asleep = awake < all ? all - awake : 0,
		       ppm = awake * (uint64_t)COST_ALL + asleep * cost_asleep_ppm(k);

	return (uint64_t)((double)room_ns(k, keeper_clock_ns()) * COST_ALL /
			  (double)(ppm > COST_ALL ? ppm : COST_ALL));
}

/* The controller prepares a pause only if it may be long enough. */
static void tell_room(struct keeper *k, uint64_t now_ns)
{
	atomic_store_explicit(&k->shared->budget.room_ns, room_ns(k, now_ns), memory_order_relaxed);
}

/* The mean cost of a stop at a trap with rounds, over the last dozens. */
static void learn_stop(struct keeper *k, uint64_t ns)
{
	struct cost *c = &k->budget.cost;

	c->trap_stop_ns = (15 * c->trap_stop_ns + ns) / 16;
	atomic_store_explicit(&k->shared->budget.trap_stop_ns, c->trap_stop_ns, memory_order_relaxed);
}

/* @ns more were spent, which the bucket knows already. */
static void tell_spent(struct keeper *k, uint64_t ns, uint64_t now_ns)
{
	atomic_fetch_add_explicit(&k->shared->budget.spent_ns, ns, memory_order_relaxed);
	atomic_store_explicit(&k->shared->budget.worst_ten_ppm, k->budget.cost.bucket.recent.worst_ns / PPM_NS,
			      memory_order_relaxed);
	tell_room(k, now_ns);
}

void cost_note(struct keeper *k, uint64_t ns)
{
	const uint64_t now_ns = keeper_clock_ns();

	if (!k->paid)
		return;
	token_bucket_note(&k->budget.cost.bucket, ns, now_ns);
	tell_spent(k, ns, now_ns);
}

void cost_share(struct keeper *k, uint32_t ppm)
{
	if (k->paid)
		token_bucket_share(&k->budget.cost.bucket, ppm, keeper_clock_ns());
}

void cost_charge(struct keeper *k, uint64_t since_ns, uint32_t ppm, enum cost_of what)
{
	struct cost *c = &k->budget.cost;
	uint64_t now = keeper_clock_ns(), ns;

	if (!k->paid)
		return;
	ns = (now - since_ns) / COST_ALL * ppm + (now - since_ns) % COST_ALL * ppm / COST_ALL + c->latency.restart_ns;
	/* where stops at traps have only a part of the budget, they leave what pauses cost */
	if (what == COST_PAUSED && token_bucket_is_shared(&c->bucket))
		token_bucket_note(&c->bucket, ns, now);
	else
		token_bucket_take(&c->bucket, ns, now);
	tell_spent(k, ns, now);
	if (what == COST_HELD || what == COST_PAUSED)
		atomic_fetch_add_explicit(&k->shared->budget.held_ns, ns, memory_order_relaxed);
	else	/* attaching, which stops all running threads, is the first example of a burst */
		c->burst_ns += ns;
	if (what == COST_ROUND)
		learn_stop(k, ns);
	if (what == COST_ROUND && !c->open)
		c->late_ns += ns;
	if (what == COST_ATTACHED && k->watching)
		ten_seconds_add(&c->attached, ns, now);
}

void cost_quiet(struct keeper *k, pid_t tid)
{
	struct cost *c = &k->budget.cost;

	/* beginning asks the kernel for the CPU time of all threads, which takes long: not without need */
	if (!c->quiet.on)
		quiet_clock_begin(&c->quiet, tid, now_by_both(k, keeper_clock_ns() + c->latency.restart_ns));
	if (c->burst_ns > c->most_burst_ns)
		c->most_burst_ns = c->burst_ns;
	c->burst_ns = 0;
}

/* --- whether traps may be planted --- */

/* What @n holds may cost together, up to their timeouts. */
static int64_t holds_ns(const struct cost *c, uint32_t n)
{
	return (int64_t)(n * (c->hold_ns + stop_ns(c)));
}

/* Reserved of the last ten seconds for what comes at once. */
static int64_t reserve_ns(const struct cost *c)
{
	int64_t burst = (int64_t)c->most_burst_ns * 3 / 2, margin = (int64_t)c->bucket.promise_ns / MARGIN;

	return burst > margin ? burst : margin;
}

/*
 * Bursts that are nearly as large as what may be spent at all must not keep the budget closed for ever: so
 * the limits have a maximum, and a full token bucket and ten quiet seconds always suffice.
 */
static bool is_spent(const struct keeper *k, struct cost *c, uint64_t now)
{
	struct token_bucket *s = &c->bucket;
	int64_t held = holds_ns(c, k->held), burst = (int64_t)c->most_burst_ns;

	return token_bucket_level(s, now) < min_ns(burst + held, s->capacity_ns * 3 / 4) ||
	       token_bucket_room(s, now) < min_ns(reserve_ns(c) + held, s->promise_ns * 3 / 4);
}

/* A hold is only a request: it has no such limits. */
bool cost_may_hold(struct keeper *k)
{
	struct cost *c = &k->budget.cost;
	uint64_t now = keeper_clock_ns();
	int64_t held = holds_ns(c, k->held + 1);

	return c->open && token_bucket_level(&c->bucket, now) >= (int64_t)c->most_burst_ns + held &&
	       token_bucket_room(&c->bucket, now) >= reserve_ns(c) + held;
}

uint64_t cost_timeout_ns(const struct keeper *k, const struct tracee *t)
{
	const struct cost *c = &k->budget.cost;

	if (!k->paid || !t->for_stack)
		return k->shared->hold_ns;
	return c->open ? c->hold_ns : 0;
}

/*
 * Is there enough to open again? Little is enough: hot sites wait for what they need by themselves
 * (cost_spare), and the others should not wait for that.
 */
static bool is_ample(struct cost *c, uint64_t now)
{
	struct token_bucket *s = &c->bucket;
	int64_t burst = c->most_burst_ns;

	return token_bucket_level(s, now) >= min_ns(s->capacity_ns / 8 + burst, s->capacity_ns) &&
	       token_bucket_room(s, now) >=
		       min_ns(reserve_ns(c) + burst / 2 + s->capacity_ns / 8, s->promise_ns * 19 / 20);
}

void cost_spare(struct keeper *k, bool late, struct round_queue_tokens *out)
{
	uint64_t now = keeper_clock_ns();
	struct token_bucket *s = &k->budget.cost.bucket;
	int64_t burst = min_ns(k->budget.cost.most_burst_ns, s->capacity_ns * 3 / 4);
	int64_t reserved = late ? burst : (s->capacity_ns + burst) / 2;
	int64_t tokens = token_bucket_level(s, now) - reserved,
		room = token_bucket_room(s, now) - reserve_ns(&k->budget.cost) - s->capacity_ns / 8;

	*out = (struct round_queue_tokens){
		.spare_ns = min_ns(tokens, room), .most_ns = s->capacity_ns - reserved,
		.ppm = TOKEN_BUCKET_FILL(s->ppm), .stop_ns = k->budget.cost.trap_stop_ns,
	};
}

static void set_open(struct keeper *k, bool open)
{
	struct cost *c = &k->budget.cost;

	c->open = open;
	atomic_store(&k->shared->budget.open, open);
	if (open) {
		uint64_t since = atomic_exchange(&k->shared->budget.closed_since_ns, 0);

		atomic_fetch_add(&k->shared->budget.closed_ns, k->now_ns - since);
		if (c->late_ns > c->most_burst_ns)
			c->most_burst_ns = c->late_ns;
		c->late_ns = 0;
		return;
	}
	atomic_store(&k->shared->budget.closed_since_ns, k->now_ns);
	atomic_fetch_add(&k->shared->budget.closed, 1);
}

bool cost_round(struct keeper *k)
{
	struct cost *c = &k->budget.cost;
	uint64_t now = keeper_clock_ns();

	if (!k->paid)
		return false;
	tell_room(k, now);
	if (now >= c->next_fade_ns) {
		c->most_burst_ns -= c->most_burst_ns / 32;
		c->next_fade_ns = now + FADE_NS;
	}
	if (!k->leave_reason && ten_seconds_sum(&c->attached, now) > c->bucket.promise_ns)
		k->leave_reason = LEFT_BUDGET;
	if (c->open ? !k->reader.silent && !is_spent(k, c, now) : k->reader.silent || !is_ample(c, now))
		return false;
	set_open(k, !c->open);
	return true;
}

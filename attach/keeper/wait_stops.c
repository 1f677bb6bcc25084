/* SPDX-License-Identifier: MIT */
#include "attach/keeper/wait_stops.h"

#include <sched.h>
#include <sys/wait.h>
#include <time.h>

#include "attach/keeper/hold.h"

/* timeouts are checked this often while one is running, and signals under load */
#define QUIET_NS 1000000
#define SCAN_NS 4000000		/* all threads are asked this often, unless all is quiet */
#define RETRY_NS 200000		/* ring full: try again */
#define LEAVING_NS 500000	/* of some that leave while others stay: check how far they are */
#define PAUSE_LOOK_NS 20000000	/* the same in a pause */
#define PEERS_NS 100000		/* a thread waits for its peers: try again */
#define FEW_THREADS 256		/* asking all of these takes some microseconds */
#define SPIN_NS 50000
#define SPIN_LONG_YIELD_NS 1000000
#define SPIN_BAN_NS 20000000
#define SPIN_BAN_MAX_NS 640000000

/* --- asking --- */

static void enqueue(struct keeper *k, struct tracee *t, int status)
{
	bool queued = t->state == TRACEE_STOPPED && !t->later;

	if (t->state == TRACEE_HELD)
		hold_end(k, t); /* killed while it was held */
	t->state = TRACEE_STOPPED;
	t->status = status;
	t->awaited = false;
	t->stuck = false;
	t->later = false;
	if (queued)
		return;
	t->seen_ns = k->now_ns;
	t->stopped_ns = k->began.found_ns;
	k->queue[k->nqueue++] = t - k->threads.all;
}

void wait_stops_later(struct keeper *k, struct tracee *t, uint64_t at_ns)
{
	t->later = true;
	if (!k->later_ns || at_ns < k->later_ns)
		k->later_ns = at_ns;
}

static void enqueue_later(struct keeper *k)
{
	if (!k->later_ns || k->now_ns < k->later_ns)
		return;
	k->later_ns = 0;
	for (struct tracee *t = threads_first(&k->threads); t; t = threads_next(&k->threads, t))
		if (t->later)
			enqueue(k, t, t->status);
}

/*
 * The state that has @tid in its table (*@t): mostly it is @k. What is in none, *@t NULL, is a newborn: its
 * first stop will show where it belongs.
 */
static struct keeper *owner_of(struct keeper *k, pid_t tid, struct tracee **t)
{
	uint32_t i = 0;

	*t = threads_find(&k->threads, tid);
	if (*t)
		return k;
	for (struct keeper *s = keeper_first(k); s; s = keeper_next(s, &i)) {
		if (k->gone && !s->gone)
			k = s;
		*t = threads_find(&s->threads, tid);
		if (*t)
			return s;
	}
	return k;
}

void wait_stops_status(struct keeper *k, pid_t tid, int status)
{
	struct tracee *t;

	keeper_first(k)->found++;
	keeper_first(k)->last_found_ns = k->now_ns;
	k = owner_of(k, tid, &t);
	atomic_fetch_add_explicit(&k->shared->counts.stops, 1, memory_order_relaxed);
	if (!t && !WIFSTOPPED(status))
		return; /* a newborn that was killed before it ran */
	if (!t)
		t = threads_add(&k->threads, tid);
	if (!t) {
		k->leave_reason = LEFT_THREADS;
		return;
	}
	enqueue(k, t, status);
}

/* As waitpid gives it. */
static int status_of(const siginfo_t *si)
{
	switch (si->si_code) {
	case CLD_EXITED:
		return (si->si_status & 0xff) << 8;
	case CLD_KILLED:
		return si->si_status;
	case CLD_DUMPED:
		return si->si_status | 0x80;
	default:
		return si->si_status << 8 | 0x7f;
	}
}

static bool enter_taken(struct keeper *k)
{
	siginfo_t *taken = &keeper_first(k)->taken;

	if (!taken->si_pid)
		return false;
	wait_stops_status(k, taken->si_pid, status_of(taken));
	*(volatile pid_t *)&taken->si_pid = 0;
	return true;
}

/*
 * Ask one thread, or all. The kernel itself writes which one has stopped, and how, to where a crash finds it. (Stops
 * of tracees are reported without WSTOPPED, and those of other children must not be.)
 */
static bool take_stop(struct keeper *k, idtype_t which, pid_t tid)
{
	siginfo_t *taken = &keeper_first(k)->taken;

	if (waitid(which, (id_t)tid, taken, WEXITED | WNOHANG | __WALL) < 0)
		taken->si_pid = 0;
	return enter_taken(k);
}

bool wait_stops_ask(struct keeper *k, pid_t tid)
{
	return take_stop(k, P_PID, tid);
}

void wait_stops_left_over(struct keeper *k)
{
	(void)enter_taken(k);
}

/* true if any of the threads that hit lately has stopped again. */
static bool ask_active_of(struct keeper *k)
{
	struct tracee *t;
	uint32_t i = 0;
	bool found = false;

	while ((t = threads_active(&k->threads, &i, k->now_ns)))
		if (t->state == TRACEE_RUNNING)
			found |= wait_stops_ask(k, t->tid);
	return found;
}

static bool ask_active(struct keeper *first)
{
	uint32_t i = 0;
	bool found = false;

	for (struct keeper *s = first; s; s = keeper_next(s, &i))
		found |= ask_active_of(s);
	return found;
}

void wait_stops_everyone(struct keeper *k)
{
	while (take_stop(k, P_ALL, 0))
		;
	keeper_first(k)->next_scan_ns = k->now_ns + SCAN_NS;
}

/* --- of all states --- */

static void set_now(struct keeper *k, uint64_t now_ns)
{
	uint32_t i = 0;

	for (struct keeper *s = keeper_first(k); s; s = keeper_next(s, &i))
		s->now_ns = now_ns;
}

static uint32_t count_active(struct keeper *first)
{
	uint32_t i = 0, n = 0;

	for (struct keeper *s = first; s; s = keeper_next(s, &i))
		n += s->threads.nactive;
	return n;
}

/* Is no thread queued that could be served now? */
static bool none_is_due(struct keeper *first)
{
	uint32_t i = 0;

	for (struct keeper *s = first; s; s = keeper_next(s, &i))
		if (!s->pausing.on && s->nqueue != s->nwaiting)
			return false;
	return true;
}

static bool any_queued(struct keeper *first)
{
	uint32_t i = 0;

	for (struct keeper *s = first; s; s = keeper_next(s, &i))
		if (s->nqueue)
			return true;
	return false;
}

/* --- waiting --- */

/*
 * A yield has given the processor to another busy process for a whole slice: for some time do not spin, but
 * sleep at once. That time doubles with each such yield.
 */
static void ban_spinning(struct spin *s, uint64_t now_ns)
{
	s->ban_ns = s->ban_ns ? 2 * s->ban_ns : SPIN_BAN_NS;
	if (s->ban_ns > SPIN_BAN_MAX_NS)
		s->ban_ns = SPIN_BAN_MAX_NS;
	s->banned_until_ns = now_ns + s->ban_ns;
}

/* Exponential mean of "it found a stopped thread", in 1024ths. */
static void score_spin(struct spin *s, bool found)
{
	s->score += (found ? 64 : 0) - s->score / 16;
	if (found && s->ban_ns > SPIN_BAN_NS)
		s->ban_ns -= s->ban_ns / 64;
}

/*
 * Before sleeping, yield the processor and ask the active threads again, for at most SPIN_NS: a thread that
 * hits all the time stops again within microseconds, and being woken from another processor costs more than
 * serving it. If that rarely finds a thread, it is tried only every 64th time. Never spin on the processor
 * that the awaited thread needs: where that happened, a malloc+free pair took 90 us instead of 31.
 */
static bool spin(struct keeper *k)
{
	struct spin *s = &k->spin;
	uint64_t start = k->now_ns, now;
	bool found = false;

	if (!count_active(k) || start < s->banned_until_ns || !placement_may_spin(&k->placement))
		return false;
	if (s->score < 512 && ++s->skipped % 64)
		return false;
	do {
		uint64_t before = k->now_ns;

		sched_yield();
		now = keeper_clock_ns();
		set_now(k, now);
		found = ask_active(k);
		if (now - before > SPIN_LONG_YIELD_NS) {
			ban_spinning(s, now);
			return found;
		}
	} while (!found && now - start < SPIN_NS);
	score_spin(s, found);
	return found;
}

/* While a thread may be stopped unseen, all threads are asked every few milliseconds. */
static void set_settled(struct keeper *k, bool settled)
{
	const uint64_t ns = settled ? 0 : SCAN_NS;
	const struct itimerspec its = { { 0, ns }, { 0, ns } };

	if (k->ticking != !settled)
		timer_settime(k->timer, 0, &its, NULL);
	k->ticking = !settled;
	k->settled = settled;
}

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){ ns / 1000000000, ns % 1000000000 };
}

static int take_signal(struct keeper *k, const struct timespec *timeout, pid_t *tid, bool *tick)
{
	siginfo_t si;

	switch (sigtimedwait(&keeper_first(k)->signals, &si, timeout)) {
	case SIGCHLD:
		*tid = si.si_pid;
		return 0;
	case KEEPER_TICK:
		*tick = true;
		return 0;
	case KEEPER_MAIL:
		return NEWS_MAIL;
	case KEEPER_ORPHAN:
		return NEWS_ORPHAN;
	case SIGTERM:
		return NEWS_TERM;
	default:
		return 0;
	}
}

/*
 * For how long to wait for a signal. Never shortly under load: the timer of every wait would be the next to
 * expire, and be programmed into the hardware, 2.5 us a stop in a virtual machine. The tick of set_settled
 * costs that once in SCAN_NS.
 */
static uint64_t timeout_of(const struct keeper *k, uint64_t max_wait_ns)
{
	if (k->gone)
		return max_wait_ns;
	if (k->left_ns)
		return k->nqueue ? 0 : LEAVING_NS;
	if (k->pausing.on)
		return max_wait_ns < PAUSE_LOOK_NS ? max_wait_ns : PAUSE_LOOK_NS;
	if (k->later_ns && k->later_ns < k->now_ns + max_wait_ns)
		max_wait_ns = k->later_ns > k->now_ns ? k->later_ns - k->now_ns : 0;
	if (k->nnew)
		return 0;
	if (k->nqueue > k->nwaiting)
		return RETRY_NS;
	if (k->nwaiting)
		return PEERS_NS;
	if (k->held && k->next_overdue_ns < k->now_ns + QUIET_NS)
		return k->next_overdue_ns > k->now_ns ? k->next_overdue_ns - k->now_ns : 0;
	if (k->held || k->reader.drop_since_ns)
		return QUIET_NS;
	return max_wait_ns;
}

static uint64_t timeout_ns(struct keeper *first, uint64_t max_wait_ns)
{
	uint64_t least = max_wait_ns;
	uint32_t i = 0;

	for (struct keeper *s = first; s; s = keeper_next(s, &i)) {
		const uint64_t ns = timeout_of(s, max_wait_ns);

		least = ns < least ? ns : least;
	}
	return least;
}

/*
 * Find the stops that no signal has announced, because another thread's SIGCHLD was pending: they began no
 * earlier than that thread's stop.
 */
static void ask_others(struct keeper *k)
{
	wait_stops_everyone(k);
	k->began.asked_ns = k->now_ns;
	k->unasked = false;
}

/*
 * With a budget no thread may be stopped unseen, nor for longer than it takes us to wake up. There are few
 * stops, so after each signal all threads are asked before we sleep again. If that takes long, the thread
 * that the signal named is served first. We do not spin either: that would take a processor from other
 * threads.
 */
static int wait_stops_at_once(struct keeper *k, uint64_t max_wait_ns)
{
	struct timespec timeout;
	uint64_t slept_ns;
	bool tick = false;
	pid_t tid = 0;
	int news;

	k->now_ns = keeper_clock_ns();
	if (k->unasked)
		ask_others(k);
	timeout = timespec_of(k->nqueue ? 0 : timeout_ns(k, max_wait_ns));
	slept_ns = k->now_ns;
	news = take_signal(k, &timeout, &tid, &tick);
	k->now_ns = keeper_clock_ns();
	if (tid > 0 || k->now_ns >= k->next_scan_ns) {
		budget_woken(k, tid, slept_ns);
		k->unasked = true;
	} else if (!news && !tick) {
		budget_idle(k); /* no signal: no thread has stopped */
	}
	if (tid > 0)
		wait_stops_ask(k, tid);
	if (k->unasked && k->threads.used <= FEW_THREADS)
		ask_others(k);
	return news;
}

int wait_stops(struct keeper *k, uint64_t max_wait_ns)
{
	struct timespec timeout = { 0, 0 };
	bool found, tick = false;
	pid_t tid = 0;
	int news = 0;

	uint32_t i = 0;

	set_now(k, keeper_clock_ns());
	for (struct keeper *s = k; s; s = keeper_next(s, &i))
		enqueue_later(s);
	if (k->paid)
		return wait_stops_at_once(k, max_wait_ns);
	/* a single active thread was resumed a moment ago */
	found = count_active(k) > 1 && ask_active(k);
	if (!found && none_is_due(k))
		found = spin(k);
	if (!found) {
		uint64_t wait = timeout_ns(k, max_wait_ns);

		timeout = timespec_of(wait);
	}
	if (!found || k->now_ns >= k->next_signal_ns) {
		news = take_signal(k, &timeout, &tid, &tick);
		set_now(k, keeper_clock_ns());
		/*
		 * SIGCHLD has the highest number of the signals we wait for: any other is dequeued before it
		 */
		k->next_signal_ns = k->now_ns + QUIET_NS;
	}
	if (tid > 0) {
		set_settled(k, false);
		wait_stops_ask(k, tid);
	}
	if (tick || k->now_ns >= k->next_scan_ns) {
		bool settled = tick && !any_queued(k);

		k->found = 0;
		wait_stops_everyone(k);
		if (settled && !k->found && k->now_ns - k->last_found_ns > SCAN_NS)
			set_settled(k, true);
	}
	return news;
}

int wait_stops_quietly(struct keeper *k, uint64_t max_wait_ns)
{
	const struct timespec timeout = timespec_of(max_wait_ns);
	bool tick = false;
	pid_t tid = 0;
	int news = take_signal(k, &timeout, &tid, &tick);

	set_now(k, keeper_clock_ns());
	/* with a budget a thread that has stopped while we napped has done so since the pause began */
	if (!k->paid)
		k->began.found_ns = k->began.likely_ns = k->now_ns;
	if (tid > 0)
		wait_stops_ask(k, tid);
	return news;
}

void wait_stops_unsettle(struct keeper *k)
{
	/* with a budget there is no tick, which would never end: all are asked at once */
	if (k->paid)
		keeper_first(k)->unasked = true;
	else
		set_settled(keeper_first(k), false);
}

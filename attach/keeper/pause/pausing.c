/* SPDX-License-Identifier: MIT */
#include "attach/keeper/pause/pausing.h"

#include <errno.h>
#include <string.h>

#include "attach/keeper/newproc.h"
#include "attach/keeper/procfs.h"
#include "attach/keeper/serve.h"
#include "attach/keeper/wait_stops.h"

#define LOOK_NS 2000000		/* no thread stops for so long: check what those that have not are doing */
#define STUCK_NS 20000000	/* asleep uninterruptibly for so long: it is not waited for */
#define NAP_NS 200000
/* while all are stopped: check this often whether the controller was stopped itself */
#define ROUND_NS 20000000
/* threads whose registers come with the stop; for more the controller asks while memory is copied */
#define PAUSE_FIRST 64

/* --- stopping --- */

static void interrupt(struct tracee *t)
{
	bool was = t->interrupted;

	t->awaited = tracee_interrupt(t) == 0; /* else it has ended, and wait reports that */
	/* in a group stop: if its call has failed, the stopping signal has caused that, not our interrupt */
	if (t->state == TRACEE_LISTENING)
		t->interrupted = was;
}

static pid_t process_of(const struct keeper *k, const struct tracee *t)
{
	return t->guest || !t->known ? t->tid : k->target;
}

/*
 * Has @t run since it was first checked, without sleeping in between, for longer than a call that moves bytes
 * runs without a break?
 */
static bool runs_on(const struct keeper *k, struct tracee *t)
{
	uint64_t sleeps = procfs_sleeps(t->tid);

	if (!t->runs || t->sleeps != sleeps) {
		t->runs = true;
		t->runs_ns = k->now_ns;
		t->sleeps = sleeps;
	}
	return k->now_ns - t->runs_ns > PAUSING_RUNS_NS || k->now_ns - k->pausing.spared_ns > PAUSING_MET_NS;
}

/*
 * Do not interrupt a thread in the middle of moving bytes. Of a thread that runs it is not known whether it
 * is in such a call; but during such a call it sleeps most of the time. So, once the others are stopped, it
 * is checked again for a while.
 */
static bool may_interrupt(const struct keeper *k, struct tracee *t)
{
	enum waiting what = procfs_waits(process_of(k, t), t->tid);

	if (what == WAITS_NOT && k->pausing.spared_ns)
		return runs_on(k, t);
	t->runs = false;
	return what == WAITS;
}

/* Returns how many do not sleep. */
static uint32_t interrupt_all(struct keeper *k)
{
	uint32_t awake = 0;

	for (struct tracee *t = threads_first(&k->threads); t; t = threads_next(&k->threads, t)) {
		/*
		 * a newborn stops by itself; a thread that waits in vfork can neither be stopped nor go on
		 * before its child does
		 */
		bool running = t->state == TRACEE_RUNNING && t->known && !t->in_vfork && !t->stuck;

		t->awaited = false;
		t->spared = running && !may_interrupt(k, t);
		t->slept = running && !t->spared;
		awake += !t->slept;
		if (t->state == TRACEE_LISTENING || (running && !t->spared))
			interrupt(t);
	}
	return awake;
}

/* All others are stopped: is any spared thread left to wait for, or to check again? */
static bool interrupt_spared(struct keeper *k)
{
	bool any = false;

	if (!k->pausing.spared_ns)
		k->pausing.spared_ns = k->now_ns;
	for (struct tracee *t = threads_first(&k->threads); t; t = threads_next(&k->threads, t)) {
		if (!t->spared || t->state != TRACEE_RUNNING)
			continue;
		t->spared = !may_interrupt(k, t);
		if (!t->spared)
			interrupt(t);
		any |= !t->spared || t->runs;
	}
	return any;
}

static bool is_awaited(const struct tracee *t)
{
	if (t->state == TRACEE_RUNNING)
		return t->awaited || !t->known;
	return t->state == TRACEE_LISTENING && t->awaited;
}

/*
 * Ask those that are not stopped yet one by one: for each of them waitpid(-1) would walk all that are.
 * Returns how many are left; @found: a thread has stopped.
 */
static uint32_t ask_awaited(struct keeper *k, bool *found)
{
	uint32_t left = 0;

	for (struct tracee *t = threads_first(&k->threads); t; t = threads_next(&k->threads, t)) {
		/* one in vfork is not waited for, but its child may have released it just now */
		if (!is_awaited(t) && !(t->state == TRACEE_RUNNING && t->in_vfork))
			continue;
		if (wait_stops_ask(k, t->tid))
			*found = true;
		else
			left += is_awaited(t);
	}
	return left;
}

/*
 * Check the new stops of the queue from *@looked on: a stop at a fork or clone reports a newborn, which is
 * added; a copy is cleaned and let go, as it is not part of the pause. -ESRCH: another program runs now.
 */
static int serve_births(struct keeper *k, uint32_t *looked)
{
	for (; *looked < k->nqueue; ++*looked) {
		struct tracee *t = &k->threads.all[k->queue[*looked]];
		enum happening what = event_decode(t->status).what;

		if (t->state != TRACEE_STOPPED || what == HAPPENED_EXIT || what == HAPPENED_KILLED)
			continue;
		if (what == HAPPENED_EXEC && !t->guest)
			return -ESRCH;
		if (!t->known && !newproc_first_stop(k, t))
			continue;
		if (what == HAPPENED_CLONE || what == HAPPENED_FORK || what == HAPPENED_VFORK)
			newproc_expect(k, t);
	}
	return 0;
}

/* Threads that will not stop though they were interrupted are not awaited: they have ended, or are stuck. */
static void check_awaited(struct keeper *k)
{
	bool late = k->now_ns - k->pausing.began_ns > STUCK_NS;

	for (struct tracee *t = threads_first(&k->threads); t; t = threads_next(&k->threads, t)) {
		pid_t pid = process_of(k, t);

		if (!is_awaited(t) || !t->known)
			continue;
		if (procfs_activity(pid, t->tid) == ACTIVITY_GONE)
			/* its end is reported, unless it is a leader that waits for the others */
			t->awaited = false;
		else if (late && procfs_uninterruptible(pid, t->tid)) {
			t->awaited = false;
			t->stuck = true;
		}
	}
}

static int why_give_up(const struct keeper *k)
{
	if (k->leave_reason || k->news & (NEWS_ORPHAN | NEWS_TERM))
		return -ECANCELED;
	return k->now_ns >= k->pausing.until_ns ? -ETIMEDOUT : 0;
}

/* The keeper has other processes, which have nothing to do with this pause. */
static void serve_others(struct keeper *k)
{
	uint32_t i = 0;

	for (struct keeper *s = keeper_first(k); s; s = keeper_next(s, &i))
		if (s != k && !s->gone && !s->left_ns && !s->pausing.on)
			serve_queue(s);
}

static int await_all(struct keeper *k)
{
	uint64_t last = k->now_ns;
	uint32_t looked = 0;

	for (;;) {
		bool found = false;
		uint32_t left = ask_awaited(k, &found), before = looked;
		int r = serve_births(k, &looked);

		/* a stop may have added a thread to wait for */
		found |= looked != before;
		if (r < 0 || (!left && !found && !interrupt_spared(k)))
			return r;
		k->now_ns = keeper_clock_ns();
		r = why_give_up(k);
		if (r < 0)
			return r;
		if (found) {
			last = k->now_ns;
			continue;
		}
		if (k->now_ns - last > LOOK_NS) {
			check_awaited(k);
			last = k->now_ns;
		}
		k->news |= wait_stops_quietly(k, NAP_NS);
		serve_others(k);
	}
}

static uint32_t count_not_stopped(struct keeper *k)
{
	uint32_t n = 0;

	for (struct tracee *t = threads_first(&k->threads); t; t = threads_next(&k->threads, t))
		n += t->state == TRACEE_RUNNING && (t->stuck || t->in_vfork || t->spared);
	return n;
}

/* --- registers --- */

static bool has_ended(const struct tracee *t)
{
	enum happening what = event_decode(t->status).what;

	return t->state == TRACEE_STOPPED && (what == HAPPENED_EXIT || what == HAPPENED_KILLED);
}

/* false: there is nothing to report about it. */
static bool describe(const struct tracee *t, struct paused_thread *out)
{
	int n;

	out->tid = t->tid;
	out->flags = 0;
	out->nvectors = 0;
	if (t->state == TRACEE_RUNNING) {
		out->flags = t->stuck || t->in_vfork ? PAUSED_ASLEEP : 0;
		/* if none of these, it is a leader that has ended before the others */
		return out->flags || t->spared;
	}
	/* a copy that could not be cleaned runs in another memory */
	if (has_ended(t) || t->unclean || tracee_regs(t, &out->regs) < 0)
		return false;
	out->flags = PAUSED_KNOWN;
	n = tracee_vectors(t, out->vectors, sizeof(out->vectors));
	out->nvectors = n > 0 ? n : 0;
	return true;
}

static uint32_t fill_batch(struct keeper *k, uint32_t from, uint32_t room)
{
	struct shared *sh = k->shared;
	struct tracee *t;
	uint32_t n = 0;

	for (t = threads_from(&k->threads, from); t && n < room; t = threads_next(&k->threads, t))
		n += describe(t, &sh->pause.batch[n]);
	sh->pause.next = t ? t - k->threads.all : 0;
	return n;
}

/* --- going on --- */

/* The pause does not count for timeouts: they start again, or are over later. */
static void restart_timeouts(struct keeper *k)
{
	uint64_t paused_ns = k->now_ns - k->pausing.began_ns;

	for (struct tracee *t = threads_first(&k->threads); t; t = threads_next(&k->threads, t)) {
		t->awaited = false;
		if (t->state == TRACEE_HELD) {
			t->seen_ns += paused_ns;
		} else if (t->state == TRACEE_STOPPED) {
			t->seen_ns = k->now_ns;
			budget_paused(k, t);
		}
	}
	if (k->reader.stall_since_ns)
		k->reader.stall_since_ns = k->now_ns;
	k->reader.unread = stall_timer_begin(k->now_ns);
}

/* What stops from now on was not asleep then. */
static void forget_sleepers(struct keeper *k)
{
	for (struct tracee *t = threads_first(&k->threads); t; t = threads_next(&k->threads, t))
		t->slept = false;
}

static void resume(struct keeper *k)
{
	struct shared *sh = k->shared;

	atomic_store(&sh->pause.number, 0);
	k->pausing.on = false;
	k->now_ns = keeper_clock_ns();
	restart_timeouts(k);
	serve_queue(k);
	forget_sleepers(k);
	k->now_ns = keeper_clock_ns();
	atomic_store(&sh->pause.ended_ns, k->now_ns);
	/* a thread may have stopped while none was asked */
	wait_stops_unsettle(k);
}

/*
 * While the controller prepared the pause, traps may have been hit, and threads may have woken: where more of them are
 * awake than was planned, it may be shorter by as much.
 */
static uint64_t limit_for(uint64_t limit_ns, uint64_t planned_ns, uint64_t paid_ns)
{
	if (paid_ns < planned_ns)
		limit_ns = (uint64_t)((double)limit_ns * (double)paid_ns / (double)planned_ns);
	return paid_ns < limit_ns ? paid_ns : limit_ns;
}

int64_t pausing_stop(struct keeper *k, uint64_t limit_ns)
{
	const uint64_t planned_ns = budget_pause_ns(k, 0);
	struct pausing *p = &k->pausing;
	int r;

	if (p->on)
		return -EBUSY;
	if (!k->watching)
		return -ESRCH;
	if (!planned_ns)
		return -ETIMEDOUT;
	k->now_ns = keeper_clock_ns();
	p->on = true;
	p->began_ns = k->now_ns;
	p->spared_ns = 0;
	budget_pause(k);
	atomic_store(&k->shared->pause.began_ns, p->began_ns);
	p->until_ns = k->now_ns + limit_for(limit_ns, planned_ns, budget_pause_ns(k, interrupt_all(k)));
	r = await_all(k);
	if (r < 0) {
		resume(k);
		return r;
	}
	if (!++p->number)
		p->number = 1;
	/* for a small process that is enough: the controller need not ask for more */
	k->shared->pause.count = fill_batch(k, 0, PAUSE_FIRST);
	atomic_store(&k->shared->pause.number, p->number);
	return count_not_stopped(k);
}

/* Has the target exec'ed? A spared thread may have got there. */
static bool has_execed(const struct keeper *k)
{
	for (uint32_t i = 0; i < k->nqueue; i++) {
		const struct tracee *t = &k->threads.all[k->queue[i]];

		if (t->state == TRACEE_STOPPED && !t->guest && event_decode(t->status).what == HAPPENED_EXEC)
			return true;
	}
	return false;
}

int64_t pausing_end(struct keeper *k)
{
	bool execed = has_execed(k);

	if (!k->pausing.on)
		return -ETIMEDOUT;
	resume(k);
	return execed ? -ESRCH : 0;
}

void pausing_round(struct keeper *k, uint64_t max_wait_ns)
{
	uint64_t now = keeper_clock_ns(), left = k->pausing.until_ns > now ? k->pausing.until_ns - now : 0;

	if (max_wait_ns > ROUND_NS)
		max_wait_ns = ROUND_NS;
	k->news |= wait_stops_quietly(k, left < max_wait_ns ? left : max_wait_ns);
	/* mostly threads can only have died; then all have, and there is one signal for them: ask all */
	wait_stops_everyone(k);
	pausing_look(k);
}

void pausing_look(struct keeper *k)
{
	atomic_fetch_add_explicit(&k->shared->beat, 1, memory_order_relaxed);
	if (k->now_ns >= k->pausing.until_ns || procfs_stopped(k->controller))
		resume(k);
}

int64_t pausing_next(struct keeper *k, uint32_t from)
{
	if (!k->pausing.on)
		return -ETIMEDOUT;
	return fill_batch(k, from, PAUSE_BATCH);
}

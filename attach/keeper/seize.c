/* SPDX-License-Identifier: MIT */
#include "attach/keeper/seize.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/keeper/loop.h"
#include "attach/keeper/newproc.h"
#include "attach/keeper/procfs.h"
#include "attach/keeper/wait_stops.h"

#define REFUSED_TRIES 20
#define REAP_NS 5000000
/*
 * Timeout for threads to leave fork and stop. If dozens of threads share two processors, each must first get
 * a processor: so FENCE_NS begins anew whenever one has stopped; FENCE_MOST_NS is for all of them.
 */
#define FENCE_NS 8000000000ull
#define FENCE_MOST_NS 15000000000ull

/*
 * PTRACE_SEIZE waits while the process execs, and the exec waits until the other threads, which may be ours
 * already, are reaped; threads that are seized to their end stop once more before that. So a timer signal's
 * handler, the only code of ours that runs meanwhile, lets them end and reaps them; then the kernel restarts
 * the request. Without it target and keeper would wait for each other for ever.
 */
static struct reaped *reaped;

static void reap(int sig)
{
	int saved = errno, status;
	pid_t tid;

	(void)sig;
	while (reaped->n < THREADS_MAX && (tid = waitpid(-1, &status, WNOHANG | __WALL)) > 0) {
		if (tracee_let_end(tid, status))
			continue;
		reaped->all[reaped->n].tid = tid;
		reaped->all[reaped->n++].status = status;
	}
	errno = saved;
}

static int seize_with_timeout(struct keeper *k, pid_t tid)
{
	sigset_t timer;
	int r;

	sigemptyset(&timer);
	sigaddset(&timer, KEEPER_REAP);
	sigprocmask(SIG_UNBLOCK, &timer, NULL);
	r = k->shared->hold_end ? tracee_seize_to_end(tid) : tracee_seize(tid);
	sigprocmask(SIG_BLOCK, &timer, NULL);
	for (uint32_t i = 0; i < k->reaped.n; i++)
		wait_stops_status(k, k->reaped.all[i].tid, k->reaped.all[i].status);
	k->reaped.n = 0;
	return r;
}

/*
 * Seizing failed with EPERM, which is also the result for a thread that has just ended, and for one that is
 * traced already, as a newborn of ours is. As seize_one.
 */
static int refused(struct keeper *k, pid_t tid, bool guest)
{
	struct timespec ms = { 0, 1000000 };

	for (int i = 0; i < REFUSED_TRIES; i++) {
		int r;

		if (tracee_is_ours(tid) || procfs_activity(guest ? tid : k->target, tid) == ACTIVITY_GONE)
			return 0;
		nanosleep(&ms, NULL);
		r = seize_with_timeout(k, tid);
		if (r != -EPERM)
			return r == 0 ? 1 : r;
	}
	return -EPERM;
}

/* 1: seized; 0: known already, or gone; -errno. */
static int seize_one(struct keeper *k, pid_t tid, bool guest)
{
	struct procfs_signals signals;
	struct tracee *t;
	int r;

	if (threads_find(&k->threads, tid))
		return 0;
	if (k->threads.used == THREADS_MAX)
		return -ENOSPC;
	r = seize_with_timeout(k, tid);
	if (r == -EPERM)
		r = refused(k, tid, guest);
	else if (r == 0)
		r = 1;
	if (r <= 0)
		return r == -ESRCH ? 0 : r;
	t = threads_add(&k->threads, tid);
	t->known = true;
	/* a thread that handles SIGTRAP may be in its handler just now, which blocks SIGTRAP for a moment */
	if (procfs_signals(tid, &signals) == 0 && !(signals.handled >> (SIGTRAP - 1) & 1))
		tracee_note_mask(t, signals.blocked);
	t->guest = guest;
	k->others += guest;
	return 1;
}

static int seize_thread(void *ctx, pid_t tid)
{
	return seize_one(ctx, tid, false);
}

static int seize_child(void *ctx, pid_t child)
{
	struct keeper *k = ctx;

	return newproc_shares_memory(k, child) ? seize_one(k, child, true) : 0;
}

/*
 * Listing /proc/PID/task can skip entries while threads end, so one pass without a new thread proves nothing;
 * two do well enough, and whatever a seized thread makes is traced from birth.
 */
static int seize_threads(struct keeper *k)
{
	int sum = 0;

	for (int quiet = 0; quiet < 2;) {
		int r = procfs_each_task(k->target, seize_thread, k);

		if (r < 0)
			return r == -ENOENT ? -ESRCH : r;
		quiet = r ? 0 : quiet + 1;
		sum += r;
	}
	return sum;
}

/*
 * A thread that waits in vfork for a child that we trace now is past what the fence is for, and there is no
 * limit to how long it may wait: the fence leaves it out (in_vfork).
 */
static int seize_guests(struct keeper *k)
{
	int sum = 0;

	for (struct tracee *t = threads_first(&k->threads); t; t = threads_next(&k->threads, t)) {
		int r = t->guest ? 0 : procfs_each_child(k->target, t->tid, seize_child, k);

		if (r < 0)
			return r;
		if (r > 0 && procfs_in_vfork(k->target, t->tid, k->mem))
			t->in_vfork = true;
		sum += r;
	}
	return sum;
}

static uint32_t count_interrupted(struct keeper *k, const struct tracee **last)
{
	uint32_t n = 0;

	for (struct tracee *t = threads_first(&k->threads); t; t = threads_next(&k->threads, t)) {
		if (!t->interrupted)
			continue;
		*last = t;
		n++;
	}
	return n;
}

/* Is any spared thread left, which has run whenever it was checked? */
static bool any_spared(struct keeper *k, bool late)
{
	bool any = false;

	for (struct tracee *t = threads_first(&k->threads); t; t = threads_next(&k->threads, t))
		any |= t->spared && tracee_spare(t, t->guest ? t->tid : k->target, late);
	return any;
}

static void interrupt_busy(struct keeper *k)
{
	uint64_t until = keeper_clock_ns() + SPARING_NS;

	for (struct tracee *t = threads_first(&k->threads); t; t = threads_next(&k->threads, t)) {
		t->spared = !t->fenced && !t->in_vfork;
		t->fenced |= t->spared;
	}
	while (any_spared(k, false) && keeper_clock_ns() < until && !k->leave_reason)
		loop_round(k, SPARING_LOOK_NS);
	(void)any_spared(k, true);
}

static int too_late(struct keeper *k, const struct tracee *t)
{
	atomic_store(&k->shared->end.late_state, procfs_state(t->guest ? t->tid : k->target, t->tid));
	atomic_store(&k->shared->end.late, t->tid);
	return -ETIMEDOUT;
}

static int fence(struct keeper *k)
{
	struct stall_timer all, last;
	uint32_t left;
	const struct tracee *late = NULL;

	/* threads that stop from here on do so because of us */
	k->began.asked_ns = keeper_clock_ns();
	interrupt_busy(k);
	all = last = stall_timer_begin(keeper_clock_ns());
	left = count_interrupted(k, &late);
	while (left) {
		uint32_t before = left;

		loop_round(k, 1000000);
		if (k->leave_reason || k->news & (NEWS_ORPHAN | NEWS_TERM))
			return -ESRCH;
		left = count_interrupted(k, &late);
		if (left != before)
			last = stall_timer_begin(k->now_ns);
		/* not ||: both must be called each time */
		if ((stall_timer_look(&last, k->now_ns) > FENCE_NS) |
		    (stall_timer_look(&all, k->now_ns) > FENCE_MOST_NS))
			return too_late(k, late);
	}
	return 0;
}

/* Repeat until a pass over everything finds no new thread: a new one may have been inside fork too. */
static int seize_all(struct keeper *k)
{
	int found;

	do {
		int r = seize_threads(k);

		found = r;
		if (r >= 0)
			r = seize_guests(k);
		found += r;
		if (r >= 0)
			r = fence(k);
		if (r < 0)
			return r;
	} while (found);
	k->watching = k->threads.used > k->others;
	return k->watching ? 0 : -ESRCH;
}

static int seize_with_timer(struct keeper *k)
{
	const struct sigaction act = { .sa_handler = reap, .sa_flags = SA_RESTART };
	const struct itimerspec every = { { 0, REAP_NS }, { 0, REAP_NS } };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = KEEPER_REAP };
	timer_t timer;
	int r;

	reaped = &k->reaped;
	sigaction(KEEPER_REAP, &act, NULL);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0)
		return -errno;
	timer_settime(timer, 0, &every, NULL);
	r = seize_all(k);
	timer_delete(timer);
	return r;
}

int seize_process(struct keeper *k, pid_t pid)
{
	if (!newproc_can_compare())
		return -EOPNOTSUPP;
	k->target = pid;
	/* a thread that stops while the others are seized has stopped after this */
	k->began.found_ns = k->began.likely_ns = keeper_clock_ns();
	k->mem = procfs_open_mem(pid);
	if (k->mem < 0) {
		int r = k->mem;

		k->mem = -1;
		return r == -ENOENT ? -ESRCH : r == -EACCES ? -EPERM : r;
	}
	k->traps.maps = procfs_open_maps(pid);
	return seize_with_timer(k);
}

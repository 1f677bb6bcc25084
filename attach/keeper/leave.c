/* SPDX-License-Identifier: MIT */
#include "attach/keeper/leave.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/keeper/hold.h"
#include "attach/keeper/newproc.h"
#include "attach/keeper/notify.h"
#include "attach/keeper/procfs.h"
#include "attach/keeper/traps/hit.h"
#include "attach/keeper/traps/step.h"
#include "attach/keeper/wait_stops.h"

#define LEAVE_NS 3000000000ull	/* after that, threads that have not stopped are detached by our exit */
#define ALONE_RETRY_NS 20000000	/* leaving alone: threads that could not be interrupted are tried again */

static void forget(struct keeper *k, struct tracee *t)
{
	if (t->guest)
		k->others--;
	threads_remove(&k->threads, t);
}

static void detach(struct keeper *k, struct tracee *t, int sig)
{
	/* if it was killed (ESRCH), it is not ours any more either */
	if (tracee_detach(t, sig) < 0)
		notify_record(k, RECORD_TROUBLE, 0, t->tid, TROUBLE_RESUME, ESRCH);
	budget_waited(k, t);
	forget(k, t);
}

/* Registers as they must be when we leave: not behind a trap, not in padding, not in an interrupted call. */
static bool settle_regs(struct keeper *k, struct tracee *t, bool at_trap, bool interrupted)
{
	struct user_regs_struct before, regs;
	bool moved = false;

	step_break_off(k, t);
	if (tracee_regs(t, &before) < 0)
		return false;
	regs = before;
	if (at_trap)
		moved = hit_step_back(k, t, &regs);
	if (interrupted)
		tracee_restart_call(t, &regs);
	if (tracee_set_regs(t, &before, &regs) == 0 && moved)
		tracee_mend_mask(t, true);
	return moved;
}

static void settle_stop(struct keeper *k, struct tracee *t)
{
	if ((hit_on_the_way(k, t) || step_on_the_way(t)) && tracee_cont(t, 0) == 0) {
		/* the SIGTRAP of a hit or a step is still queued, and stops it at once: wait for that */
		t->interrupted = true;
		return;
	}
	settle_regs(k, t, false, t->interrupted);
	detach(k, t, 0);
}

static void settle_signal(struct keeper *k, struct tracee *t, int sig)
{
	bool ours = sig == SIGTRAP && (step_settle(k, t) || settle_regs(k, t, true, false));

	if (!ours)
		settle_regs(k, t, false, tracee_is_ignored(t, sig));
	detach(k, t, ours ? 0 : sig);
}

/*
 * @t is inside fork or clone, so no SIGTRAP is queued for it. The newborn has traps in its memory if its copy
 * was made before we lifted them: wait for its first stop, unless that was seen already.
 */
static void settle_birth(struct keeper *k, struct tracee *t)
{
	unsigned long newborn;

	if (tracee_event_msg(t, &newborn) == 0) {
		struct tracee *n = newproc_find(k, newborn);

		if (!n && tracee_is_ours(newborn))
			n = threads_add(&k->threads, newborn);
		if (n && !n->known && n->state == TRACEE_RUNNING)
			n->interrupted = true;
	}
	detach(k, t, 0);
}

/* Only this thread is left, and its memory has no traps any more. */
static void settle_exec(struct keeper *k, struct tracee *t)
{
	newproc_exec(k, t);
	if (t->state != TRACEE_HELD)
		return;
	hold_end(k, t);
	detach(k, t, 0);
}

/* @t is stopped; t->status is how. */
static void settle(struct keeper *k, struct tracee *t)
{
	struct happening_info h = event_decode(t->status);

	t->state = TRACEE_STOPPED;
	if (h.what == HAPPENED_EXIT || h.what == HAPPENED_KILLED) {
		forget(k, t);
		return;
	}
	if (!t->known && !newproc_first_stop(k, t))
		return;
	switch (h.what) {
	case HAPPENED_SIGNAL:
		settle_signal(k, t, h.sig);
		break;
	case HAPPENED_STOP:
	case HAPPENED_GROUP_STOP:
		settle_stop(k, t);
		break;
	case HAPPENED_CLONE:
	case HAPPENED_FORK:
	case HAPPENED_VFORK:
		settle_birth(k, t);
		break;
	case HAPPENED_EXEC:
		settle_exec(k, t);
		break;
	case HAPPENED_ENDING:
		step_break_off(k, t);
		detach(k, t, 0);
		break;
	default:
		settle_regs(k, t, false, false);
		detach(k, t, 0);
	}
}

/*
 * Stopped threads are detached at once. Running ones are interrupted, mostly only if they run on for a while
 * (tracee_spare). Sleeping ones are left alone.
 */
static void release(struct keeper *k, struct tracee *t)
{
	pid_t pid = t->guest ? t->tid : k->target;

	t->spared = false;
	switch (t->state) {
	case TRACEE_STOPPED:
		settle(k, t);
		break;
	case TRACEE_HELD:
		hold_end(k, t);
		t->state = TRACEE_STOPPED;
		if (t->exit_hold) {
			detach(k, t, 0);
			break;
		}
		settle_regs(k, t, t->hit_pending, false);
		detach(k, t, 0);
		break;
	case TRACEE_RUNNING:
		t->interrupted &= !t->stuck; /* not awaited: it may sleep for hours */
		if (!t->known) {
			/* its first stop needs no interrupt, and it may be a copy to clean: await it */
			t->interrupted = true;
			break;
		}
		/* past its vfork, waiting for the child: asleep, though /proc shows it inside vfork */
		if (t->in_vfork || (t->stepping == NO_TRAP && procfs_activity(pid, t->tid) != ACTIVITY_BUSY))
			break;
		if (t->stepping == NO_TRAP)
			t->spared = true;
		else
			(void)!tracee_interrupt(t); /* ESRCH: it ended */
		break;
	default:
		break; /* stopped by SIGSTOP: stays so when we exit */
	}
}

/* Those that have stopped meanwhile. Serving a birth may append to the queue. */
static void settle_queue(struct keeper *k)
{
	for (uint32_t i = 0; i < k->nqueue; i++) {
		struct tracee *t = &k->threads.all[k->queue[i]];

		t->stopped_ns = budget_stopped_ns(k);
		if (t->state == TRACEE_STOPPED)
			settle(k, t);
	}
	k->nqueue = 0;
}

static void settle_stops(struct keeper *k)
{
	uint32_t i = 0;

	wait_stops_everyone(k);
	for (struct keeper *s = keeper_first(k); s; s = keeper_next(s, &i))
		settle_queue(s);
}

static bool waiting_for_any(struct keeper *k, bool late)
{
	bool any = false;

	for (struct tracee *t = threads_first(&k->threads); t; t = threads_next(&k->threads, t)) {
		if (t->state != TRACEE_RUNNING)
			continue;
		any |= (t->spared && tracee_spare(t, t->guest ? t->tid : k->target, late)) || t->interrupted;
	}
	return any;
}

static bool all_waiting_for_any(struct keeper *k, bool late)
{
	bool any = false;
	uint32_t i = 0;

	for (struct keeper *s = keeper_first(k); s; s = keeper_next(s, &i))
		any |= waiting_for_any(s, late);
	return any;
}

static void wait_a_little(struct keeper *k)
{
	struct timespec a_little = { 0, SPARING_LOOK_NS };
	uint32_t i = 0;
	sigset_t chld;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	/* whichever thread has stopped, or none: all are asked next */
	(void)sigtimedwait(&chld, NULL, &a_little);
	for (struct keeper *s = keeper_first(k); s; s = keeper_next(s, &i))
		s->now_ns = keeper_clock_ns();
}

static void release_all(struct keeper *k)
{
	k->nqueue = 0;	/* what is stopped is found in the table */
	for (struct tracee *t = threads_first(&k->threads); t; t = threads_next(&k->threads, t))
		release(k, t);
}

static void release_threads(struct keeper *k)
{
	uint64_t began = keeper_clock_ns();
	struct stall_timer p = stall_timer_begin(began);
	uint32_t i = 0;

	for (struct keeper *s = keeper_first(k); s; s = keeper_next(s, &i))
		if (s->target && !s->gone)
			release_all(s);
	while (all_waiting_for_any(k, keeper_clock_ns() - began > SPARING_NS) &&
	       stall_timer_look(&p, keeper_clock_ns()) < LEAVE_NS) {
		settle_stops(k);
		wait_a_little(k);
	}
	/* the last: threads that have stopped by themselves since all were asked, and newborns */
	settle_stops(k);
}

static void lift(struct keeper *k)
{
	/* one that has ended has no memory any more */
	const bool lives = k->target && k->mem >= 0 && (!k->first || k->threads.used);

	/* from here on memory must not be copied: threads will run */
	atomic_store(&k->shared->pause.number, 0);
	k->pausing.on = false;
	/* and nothing is planted, also not at the end of a step */
	trap_freeze(&k->traps);
	if (lives)
		atomic_fetch_add(&k->shared->end.unlifted, trap_lift_all(&k->traps, k->mem));
	/* copies exist even if the target's own memory can no longer be opened, as after an exec */
	atomic_fetch_add(&k->shared->end.uncleaned, newproc_clean_rest(k));
	k->leaving = true;
	atomic_store(&k->shared->end.at_ns, keeper_clock_ns());
	atomic_store(&k->shared->end.blind_ns,
		     k->reader.drop_since_ns ? k->reader.drop_since_ns : atomic_load(&k->shared->end.at_ns));
}

static void finish(struct keeper *k, enum leave_reason reason)
{
	if (k->target && k->mem >= 0)
		trap_restore_scratch(&k->traps, k->mem);
	atomic_store(&k->shared->end.left, reason);
}

void leave(struct keeper *k, enum leave_reason reason)
{
	uint32_t i = 0;

	for (struct keeper *s = keeper_first(k); s; s = keeper_next(s, &i))
		if (!s->gone)
			lift(s);
	wait_stops_left_over(k);
	release_threads(k);
	i = 0;
	for (struct keeper *s = keeper_first(k); s; s = keeper_next(s, &i))
		if (!s->gone)
			finish(s, s->leave_reason ? s->leave_reason : reason);
}

/* --- alone --- */

/*
 * Its end was reported, but not to this state: nothing comes of it any more. A newborn is no thread of the target,
 * nor is a guest's.
 */
static bool is_gone(const struct keeper *k, const struct tracee *t)
{
	const long r = t->known && !t->guest ? syscall(SYS_tgkill, k->target, t->tid, 0)
					     : syscall(SYS_tkill, t->tid, 0);

	return r < 0 && errno == ESRCH;
}

/*
 * The keeper does not exit, so a thread that sleeps must stop, too. If it moves bytes, it is tried again
 * later.
 */
static void release_alone(struct keeper *k, struct tracee *t)
{
	const pid_t pid = t->guest ? t->tid : k->target;
	const bool was = t->interrupted;

	if (is_gone(k, t)) {
		forget(k, t);
		return;
	}
	if (t->state == TRACEE_LISTENING) {
		(void)!tracee_interrupt(t);
		t->interrupted = was; /* its call has failed because of the signal that has stopped it */
		return;
	}
	if (t->state != TRACEE_RUNNING) {
		release(k, t);
		return;
	}
	if (t->known && !t->interrupted && !t->in_vfork && procfs_waits(pid, t->tid) == WAITS)
		(void)!tracee_interrupt(t); /* ESRCH: it ended */
	else if (!t->interrupted || t->stuck)
		release(k, t);
}

static void release_all_alone(struct keeper *k)
{
	k->retry_ns = k->now_ns + ALONE_RETRY_NS;
	k->nqueue = 0;
	for (struct tracee *t = threads_first(&k->threads); t; t = threads_next(&k->threads, t))
		release_alone(k, t);
}

void leave_alone(struct keeper *k)
{
	k->left_ns = k->now_ns;
	lift(k);
	release_all_alone(k);
	leave_round(k);
}

void leave_round(struct keeper *k)
{
	const uint64_t age = k->now_ns - k->left_ns;

	settle_queue(k);
	(void)waiting_for_any(k, age > SPARING_NS);
	if (k->threads.used && k->now_ns >= k->retry_ns)
		release_all_alone(k);
	if (k->threads.used && age < LEAVE_NS)
		return;
	k->gone = !k->threads.used;
	if (atomic_load(&k->shared->end.left))
		return;
	atomic_store(&k->shared->end.stays, 1);
	finish(k, k->leave_reason);
	if (!k->slot || atomic_load(&k->slot->state) != SLOT_OFFERED)
		notify_ring(k);
}

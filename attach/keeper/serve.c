/* SPDX-License-Identifier: MIT */
#include "attach/keeper/serve.h"

#include <errno.h>
#include <sys/wait.h>

#include "attach/keeper/newproc.h"
#include "attach/keeper/notify.h"
#include "attach/keeper/pause/exit_hold.h"
#include "attach/keeper/served.h"
#include "attach/keeper/traps/hit.h"
#include "attach/keeper/traps/step.h"

static void resume(struct keeper *k, struct tracee *t, int sig)
{
	int r = tracee_cont(t, sig);

	if (r < 0 && r != -ESRCH)
		notify_record(k, RECORD_TROUBLE, 0, t->tid, TROUBLE_RESUME, -r);
}

static void serve_end(struct keeper *k, struct tracee *t)
{
	bool guest = t->guest || !t->known;
	int status = t->status;
	pid_t tid = t->tid;

	step_end_in_place(k, t);
	if (t->guest)
		k->others--;
	calls_drop(&k->calls, &t->calls);
	threads_remove(&k->threads, t);
	if (guest)
		return;
	k->last_status = status;
	notify_record(k, RECORD_THREAD_END, 0, tid, 0, status);
}

/*
 * A signal that the target ignores does not reach an untraced thread at all. A traced one is woken by it, and
 * would see EINTR because of us.
 */
static void restart_if_ignored(const struct keeper *k, struct tracee *t, int sig)
{
	struct user_regs_struct before, regs;

	if (tracee_regs(t, &before) < 0 || (long long)before.rax != -EINTR || !tracee_is_ignored(t, sig))
		return;
	regs = before;
	if (tracee_may_restart(t, &regs, k->now_ns))
		tracee_restart_call(t, &regs);
	if (tracee_set_regs(t, &before, &regs) < 0)
		t->state = TRACEE_RUNNING;
}

static bool serve_signal(struct keeper *k, struct tracee *t, int sig)
{
	if (sig == SIGTRAP) {
		enum hit_result r = hit_serve(k, t);

		if (r != HIT_NOT_OURS)
			return r == HIT_DONE;
	}
	step_break_off(k, t);
	restart_if_ignored(k, t, sig);
	resume(k, t, sig);
	return true;
}

/* The end of a group stop, a newborn's first stop, or our own interrupt. */
static void serve_stop(struct keeper *k, struct tracee *t, bool interrupted)
{
	struct user_regs_struct regs, before;

	if (interrupted && tracee_regs(t, &before) == 0) {
		regs = before;
		tracee_undo_interrupt(t, &regs, k->now_ns);
		if (tracee_set_regs(t, &before, &regs) < 0)
			t->state = TRACEE_RUNNING;
	}
	if (!step_on_the_way(t))
		step_break_off(k, t);
	resume(k, t, 0);
}

/*
 * The process was stopped: the thread must stay stopped, but it may have run into a trap just before. If it
 * stayed so (PTRACE_LISTEN) with that SIGTRAP in its queue, it would die of it when it is continued after we
 * have left; so serve the hit first.
 */
static void serve_group_stop(struct keeper *k, struct tracee *t)
{
	bool step = step_on_the_way(t);

	if (!step)
		step_break_off(k, t);
	if (step || hit_on_the_way(k, t)) {
		t->stop_again = true;
		resume(k, t, 0);
	} else if (tracee_listen(t) < 0) {
		t->state = TRACEE_RUNNING;
	}
}

static void serve_birth(struct keeper *k, struct tracee *t)
{
	newproc_expect(k, t);
	resume(k, t, 0);
}

/*
 * A hit may wait for the thread's peers. Other stops report what the process does, and never wait. Nor does
 * the end of a step: the trap may be lifted for it.
 */
static bool must_wait(struct keeper *k, struct tracee *t)
{
	struct happening_info h = event_decode(t->status);

	/* with a budget waiting is charged, and few threads hit */
	if (k->paid)
		return false;
	return h.what == HAPPENED_SIGNAL && h.sig == SIGTRAP && t->stepping == NO_TRAP &&
	       fair_must_wait(&k->fair, t, k->now_ns);
}

/* false: it could not be served now (no space in the ring). */
static bool serve(struct keeper *k, struct tracee *t)
{
	struct happening_info h = event_decode(t->status);
	bool interrupted = t->interrupted;

	/* whichever stop is first, the kernel makes no other one for our interrupt */
	t->interrupted = false;
	if (h.what == HAPPENED_STOP || h.what == HAPPENED_GROUP_STOP)
		t->stop_again = false;
	if (h.what == HAPPENED_EXIT || h.what == HAPPENED_KILLED) {
		serve_end(k, t);
		return true;
	}
	if (!t->known && !newproc_first_stop(k, t))
		return true;
	switch (h.what) {
	case HAPPENED_SIGNAL:
		return serve_signal(k, t, h.sig);
	case HAPPENED_GROUP_STOP:
		serve_group_stop(k, t);
		return true;
	case HAPPENED_STOP:
		serve_stop(k, t, interrupted);
		return true;
	case HAPPENED_VFORK:
		t->in_vfork = true;
		serve_birth(k, t);
		return true;
	case HAPPENED_CLONE:
	case HAPPENED_FORK:
		serve_birth(k, t);
		return true;
	case HAPPENED_EXEC:
		newproc_exec(k, t);
		return true;
	case HAPPENED_ENDING:
		step_break_off(k, t);
		exit_hold_serve(k, t);
		return true;
	case HAPPENED_VFORK_DONE:
		t->in_vfork = false;
		resume(k, t, 0);
		return true;
	default:
		resume(k, t, 0);
		return true;
	}
}

/* The stop is charged to the budget if the thread has resumed; if it is held, when the hold ends. */
static bool serve_charged(struct keeper *k, struct tracee *t)
{
	/* while a copy waits, the target pays nothing; and the copy may be gone afterwards */
	bool counts = WIFSTOPPED(t->status) && !t->unclean;
	uint64_t since = t->stopped_ns;
	bool done;

	if (!k->paid)
		return serve(k, t);
	budget_serve(k, t);
	done = serve(k, t);
	if (!done || !counts || t->state == TRACEE_HELD)
		return done;
	budget_served(k, t, since);
	return true;
}

/* --- all of them --- */

void serve_queue(struct keeper *k)
{
	pid_t last = 0;
	uint32_t n = k->nqueue, left = 0;

	k->nwaiting = 0;
	fair_begin_round(&k->fair, &k->threads, k->now_ns);
	/* serving a birth may append to the queue: these stops wait for the next round */
	for (uint32_t i = 0; i < n; i++) {
		struct tracee *t = &k->threads.all[k->queue[i]];
		uint64_t since = t->seen_ns;

		if (t->state != TRACEE_STOPPED)
			continue;
		if (must_wait(k, t)) {
			k->queue[left++] = k->queue[i];
			k->nwaiting++;
			continue;
		}
		fair_served(t, k->now_ns);
		last = t->tid;
		if (!serve_charged(k, t)) {
			k->queue[left++] = k->queue[i];
			continue;
		}
		served_add(k, t, since);
		if (ring_is_crowded(&k->shared->ring))
			notify_bell(k);
	}
	k->nnew = k->nqueue - n;
	for (uint32_t i = n; i < k->nqueue; i++)
		k->queue[left++] = k->queue[i];
	k->nqueue = left;
	if (k->paid && !left && !k->held)
		budget_quiet(k, last);
	/* the controller may take our processor when it wakes: no thread waits for us now */
	if (n && ring_used(&k->shared->ring))
		notify_bell(k);
}

/* SPDX-License-Identifier: MIT */
#include "attach/keeper/seize.h"

#include <errno.h>
#include <unistd.h>

#include "attach/keeper/loop.h"
#include "attach/keeper/newproc.h"
#include "attach/keeper/procfs.h"

#define FENCE_NS 1000000000ull	/* for all threads to come out of fork */

/* 1: seized; 0: known already, or gone; -errno. */
static int seize_one(struct keeper *k, pid_t tid, bool guest)
{
	struct tracee *t;
	int r;

	if (threads_find(&k->threads, tid))
		return 0;
	if (k->threads.used == THREADS_MAX)
		return -ENOSPC;
	r = tracee_seize(tid);
	if (r < 0) {
		/* it ended, or it is a newborn that is ours already; a zombie is refused with EPERM */
		if (r == -ESRCH || procfs_activity(k->target, tid) == ACTIVITY_GONE)
			return 0;
		if (r == -EPERM && guest)
			return 0;
		return r;
	}
	t = threads_add(&k->threads, tid);
	t->known = true;
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
 * Listing /proc/PID/task can skip entries while threads end, so one pass
 * without a new thread proves nothing; two do well enough, and whatever a
 * seized thread makes is traced from birth.
 */
static int seize_threads(struct keeper *k)
{
	for (int quiet = 0; quiet < 2;) {
		int r = procfs_each_task(k->target, seize_thread, k);

		if (r < 0)
			return r == -ENOENT ? -ESRCH : r;
		quiet = r ? 0 : quiet + 1;
	}
	return 0;
}

static int seize_guests(struct keeper *k)
{
	for (struct tracee *t = threads_first(&k->threads); t; t = threads_next(&k->threads, t)) {
		int r = t->guest ? 0 : procfs_each_child(k->target, t->tid, seize_child, k);

		if (r < 0)
			return r;
	}
	return 0;
}

static bool interrupts_pending(struct keeper *k)
{
	for (struct tracee *t = threads_first(&k->threads); t; t = threads_next(&k->threads, t))
		if (t->interrupted)
			return true;
	return false;
}

static int fence(struct keeper *k)
{
	uint64_t limit;

	for (struct tracee *t = threads_first(&k->threads); t; t = threads_next(&k->threads, t)) {
		pid_t pid = t->guest ? t->tid : k->target;

		/* ESRCH: it ended meanwhile */
		if (procfs_activity(pid, t->tid) == ACTIVITY_BUSY && tracee_interrupt(t) < 0)
			continue;
	}
	limit = keeper_clock_ns() + FENCE_NS;
	while (interrupts_pending(k)) {
		(void)loop_round(k, 1000000);
		if (k->leave_reason)
			return -ESRCH;
		if (keeper_clock_ns() > limit)
			return -ETIMEDOUT;
	}
	return 0;
}

static int seize_all(struct keeper *k)
{
	int r = seize_threads(k);

	if (r == 0)
		r = seize_guests(k);
	if (r == 0)
		r = fence(k);
	if (r == 0)
		r = seize_threads(k);
	if (r == 0)
		r = seize_guests(k);
	if (r == 0 && k->threads.used == k->others)
		r = -ESRCH;
	return r;
}

int seize_process(struct keeper *k, pid_t pid)
{
	if (!newproc_can_compare())
		return -ENOSYS;
	k->target = pid;
	k->mem = procfs_open_mem(pid);
	if (k->mem < 0) {
		int r = k->mem;

		k->mem = -1;
		return r == -ENOENT ? -ESRCH : r == -EACCES ? -EPERM : r;
	}
	return seize_all(k);
}

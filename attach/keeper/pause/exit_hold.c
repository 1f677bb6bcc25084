/* SPDX-License-Identifier: MIT */
#include "attach/keeper/pause/exit_hold.h"

#include <signal.h>
#include <sys/syscall.h>

#include "attach/keeper/hold.h"
#include "attach/keeper/notify.h"
#include "attach/keeper/procfs.h"
#include "attach/keeper/traps/hit.h"

#define ENDING_NS 30000000000ull	/* no thread is held at its end for longer */
#define EXEC_LOOK_NS 1000000

static bool is_thread(const struct tracee *t)
{
	return t->known && !t->guest;
}

/* A leader that has ended before the other threads stays in the table until they have ended. */
static bool any_lives_on(struct keeper *k)
{
	for (struct tracee *t = threads_first(&k->threads); t; t = threads_next(&k->threads, t))
		if (is_thread(t) && !t->exit_hold && procfs_activity(k->target, t->tid) != ACTIVITY_GONE)
			return true;
	return false;
}

enum end {
	END_ALONE,	/* the other threads go on */
	END_OF_ALL,
	END_UNKNOWN,	/* all threads end, or all but one that execs: they are killed in the same way */
};

static enum end what_ends(struct keeper *k, struct tracee *t)
{
	struct user_regs_struct regs;
	unsigned long code;
	bool alone;

	if (tracee_regs(t, &regs) < 0 || tracee_event_msg(t, &code) < 0)
		return END_ALONE;
	/* seccomp may have killed this thread alone, and nothing shows that: no thread may be held for it */
	if ((code & 0x7f) == SIGSYS)
		return END_ALONE;
	if (code & 0x7f)
		return END_OF_ALL;
	if ((long long)regs.orig_rax != SYS_exit)
		return code ? END_OF_ALL : END_UNKNOWN;
	t->exit_hold = true; /* not to count this thread */
	alone = any_lives_on(k);
	t->exit_hold = false;
	return alone ? END_ALONE : END_OF_ALL;
}

static bool is_held(struct keeper *k, struct tracee *t)
{
	enum end end;

	if (!k->shared->hold_end || !keeper_is_answered(k) || !k->watching || !is_thread(t) ||
	    k->exit_hold.reported)
		return false;
	end = what_ends(k, t);
	k->exit_hold.sure |= end == END_OF_ALL;
	return end != END_ALONE;
}

void exit_hold_serve(struct keeper *k, struct tracee *t)
{
	if (!is_held(k, t)) {
		/* ESRCH: it was killed, and wait reports that */
		(void)!tracee_cont(t, 0);
		return;
	}
	hold_begin(k, t, false, false);
	if (!k->exit_hold.threads) {
		k->exit_hold.alive_ns = k->now_ns;
		k->exit_hold.next_look_ns = k->now_ns;
	}
	t->exit_hold = true;
	k->exit_hold.threads++;
}

/* The threads that are still held at their end: some may have been killed meanwhile. */
static uint32_t count(struct keeper *k)
{
	uint32_t n = 0;

	for (struct tracee *t = threads_first(&k->threads); t; t = threads_next(&k->threads, t))
		n += t->exit_hold && t->state == TRACEE_HELD;
	return n;
}

int64_t exit_hold_let_go(struct keeper *k)
{
	int64_t n = 0;

	for (struct tracee *t = threads_first(&k->threads); t; t = threads_next(&k->threads, t)) {
		if (!t->exit_hold || t->state != TRACEE_HELD)
			continue;
		t->exit_hold = false;
		hit_release(k, t);
		n++;
	}
	k->exit_hold.threads = 0;
	k->exit_hold.reported = true; /* a thread that ends later is not held */
	return n;
}

static bool is_overdue(struct keeper *k)
{
	uint64_t alive = atomic_load_explicit(&k->shared->alive, memory_order_relaxed), oldest = k->now_ns;

	if (alive != k->exit_hold.alive) {
		k->exit_hold.alive = alive;
		k->exit_hold.alive_ns = k->now_ns;
	}
	for (struct tracee *t = threads_first(&k->threads); t; t = threads_next(&k->threads, t))
		if (t->exit_hold && t->seen_ns < oldest)
			oldest = t->seen_ns;
	return k->now_ns - k->exit_hold.alive_ns > k->shared->hold_ns || k->now_ns - oldest > ENDING_NS;
}

/*
 * Is there a thread that execs? It waits in that call until the others have ended. With thousands of threads
 * the search takes long: at most a fifth of the time is spent on it.
 */
static bool thread_execs(struct keeper *k)
{
	bool found = false;

	if (k->exit_hold.sure || k->now_ns < k->exit_hold.next_look_ns)
		return false;
	for (struct tracee *t = threads_first(&k->threads); t && !found; t = threads_next(&k->threads, t))
		found = is_thread(t) && !t->exit_hold && t->state == TRACEE_RUNNING &&
			procfs_in_exec(k->target, t->tid);
	k->exit_hold.next_look_ns = k->now_ns + EXEC_LOOK_NS + 4 * (keeper_clock_ns() - k->now_ns);
	return found;
}

void exit_hold_round(struct keeper *k)
{
	if (!k->exit_hold.threads)
		return;
	k->exit_hold.threads = count(k);
	if (!k->exit_hold.reported && thread_execs(k)) {
		exit_hold_let_go(k);
		return;
	}
	if (!k->exit_hold.reported && k->exit_hold.threads && !any_lives_on(k)) {
		k->exit_hold.reported = true;
		notify_record(k, RECORD_ENDING, 0, k->target, 0, 0);
		notify_bell(k);
	}
	if (is_overdue(k))
		exit_hold_let_go(k);
}

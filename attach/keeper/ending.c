/* SPDX-License-Identifier: MIT */
#include "attach/keeper/ending.h"

#include <sys/syscall.h>

#include "attach/keeper/hit.h"
#include "attach/keeper/procfs.h"

#define ENDING_NS 30000000000ull

static bool is_thread(const struct tracee *t)
{
	return t->known && !t->guest;
}

/* A leader that has ended before the others stays in the table until they have. */
static bool any_lives_on(struct keeper *k)
{
	for (struct tracee *t = threads_first(&k->threads); t; t = threads_next(&k->threads, t))
		if (is_thread(t) && !t->ending && procfs_activity(k->target, t->tid) != ACTIVITY_GONE)
			return true;
	return false;
}

/* Does only this thread end? What ends a process as a whole is another call, or a signal. */
static bool ends_alone(struct keeper *k, struct tracee *t)
{
	struct user_regs_struct regs;
	unsigned long code;
	bool alone;

	if (tracee_regs(t, &regs) < 0 || tracee_event_msg(t, &code) < 0)
		return true;
	if ((long long)regs.orig_rax != SYS_exit || code & 0x7f)
		return false;
	t->ending = true; /* not to count itself */
	alone = any_lives_on(k);
	t->ending = false;
	return alone;
}

void ending_serve(struct keeper *k, struct tracee *t)
{
	bool held = k->shared->hold_end && k->watching && is_thread(t) && !k->ending_told && !ends_alone(k, t);

	if (!held) {
		/* ESRCH: it was killed, and wait will tell */
		(void)!tracee_cont(t, 0);
		return;
	}
	hit_hold(k, t, false, false);
	if (!k->ending)
		k->ending_alive_ns = k->now_ns;
	t->ending = true;
	k->ending++;
}

/* Some may have been killed where they stood. */
static uint32_t count(struct keeper *k)
{
	uint32_t n = 0;

	for (struct tracee *t = threads_first(&k->threads); t; t = threads_next(&k->threads, t))
		n += t->ending && t->state == TRACEE_HELD;
	return n;
}

int64_t ending_let_go(struct keeper *k)
{
	int64_t n = 0;

	for (struct tracee *t = threads_first(&k->threads); t; t = threads_next(&k->threads, t)) {
		if (!t->ending || t->state != TRACEE_HELD)
			continue;
		t->ending = false;
		hit_release(k, t);
		n++;
	}
	k->ending = 0;
	k->ending_told = true; /* whoever comes later is not held any more */
	return n;
}

static bool is_overdue(struct keeper *k)
{
	uint64_t alive = atomic_load_explicit(&k->shared->alive, memory_order_relaxed), oldest = k->now_ns;

	if (alive != k->ending_alive) {
		k->ending_alive = alive;
		k->ending_alive_ns = k->now_ns;
	}
	for (struct tracee *t = threads_first(&k->threads); t; t = threads_next(&k->threads, t))
		if (t->ending && t->seen_ns < oldest)
			oldest = t->seen_ns;
	return k->now_ns - k->ending_alive_ns > k->shared->hold_ns || k->now_ns - oldest > ENDING_NS;
}

void ending_round(struct keeper *k)
{
	if (!k->ending)
		return;
	k->ending = count(k);
	if (!k->ending_told && k->ending && !any_lives_on(k)) {
		k->ending_told = true;
		keeper_record(k, RECORD_ENDING, 0, k->target, 0, 0);
		keeper_ring_bell(k);
	}
	if (is_overdue(k))
		ending_let_go(k);
}

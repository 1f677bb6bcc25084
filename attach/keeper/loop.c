/* SPDX-License-Identifier: MIT */
#include "attach/keeper/loop.h"

#include "attach/keeper/copies/copies.h"
#include "attach/keeper/leave.h"
#include "attach/keeper/notify.h"
#include "attach/keeper/pause/exit_hold.h"
#include "attach/keeper/pause/pausing.h"
#include "attach/keeper/serve.h"
#include "attach/keeper/traps/hit.h"
#include "attach/keeper/wait_stops.h"

/*
 * times silence_ns: with a budget nothing is planted meanwhile, and a watch of hours should not end for this
 */
#define SILENCES 40

/* The target ends with its last thread: guests, and a copy that is not let go yet, may outlive it. */
static void watch_end(struct keeper *k)
{
	if (!k->watching || k->leave_reason || k->threads.used > k->others)
		return;
	notify_record(k, RECORD_END, 0, k->target, 0, k->last_status);
	k->leave_reason = LEFT_ENDED;
}

/* Release each held thread that has waited for too long: it resumes without an answer. */
static void release_overdue(struct keeper *k)
{
	struct shared_counts *counts = &k->shared->counts;

	k->next_overdue_ns = UINT64_MAX;
	if (!k->held)
		return;
	for (struct tracee *t = threads_first(&k->threads); t; t = threads_next(&k->threads, t)) {
		uint64_t until = t->seen_ns + budget_hold_ns(k, t);

		if (t->state != TRACEE_HELD || t->exit_hold)
			continue;
		if (k->now_ns >= until) {
			atomic_fetch_add_explicit(t->for_stack ? &counts->unwalked : &counts->overdue, 1,
						  memory_order_relaxed);
			hit_release(k, t);
		} else if (until < k->next_overdue_ns) {
			k->next_overdue_ns = until;
		}
	}
}

void loop_watch_reader(struct keeper *k)
{
	uint64_t tail = atomic_load_explicit(&k->shared->ring.tail, memory_order_relaxed);
	uint64_t alive = atomic_load_explicit(&k->shared->alive, memory_order_relaxed);

	uint64_t silence = stall_timer_look(&k->reader.unread, k->now_ns);

	/* what a copy records waits for its watch to begin */
	if (!keeper_is_answered(k))
		return;

	if (!ring_used(&k->shared->ring) || tail != k->reader.last_tail || alive != k->reader.last_alive) {
		k->reader.unread = stall_timer_begin(k->now_ns);
		k->reader.last_tail = tail;
		k->reader.last_alive = alive;
		k->reader.silent = false;
		return;
	}
	k->reader.silent = k->paid && silence > k->shared->silence_ns;
	if (silence > k->shared->silence_ns * (k->paid ? SILENCES : 1))
		k->leave_reason = LEFT_SILENT;
}

/* Serve what has stopped, and check the limits. */
static void look(struct keeper *k)
{
	if (k->gone)
		return;
	if (k->left_ns) {
		leave_round(k);
		return;
	}
	if (k->pausing.on) {
		pausing_look(k);
		return;
	}
	serve_queue(k);
	budget_round(k);
	/*
	 * with a budget the keeper never spins, and the stop cost was measured on the processor where it runs
	 */
	if (!k->paid && !k->first)
		placement_round(&k->placement, &k->threads, k->now_ns,
				atomic_load_explicit(&k->shared->counts.stops, memory_order_relaxed));
	atomic_fetch_add_explicit(&k->shared->beat, 1, memory_order_relaxed);
	atomic_store_explicit(&k->shared->threads, k->threads.used - k->others, memory_order_relaxed);
	atomic_store_explicit(&k->shared->counts.hitting, k->threads.hitting, memory_order_relaxed);
	watch_end(k);
	exit_hold_round(k);
	copies_fit_ring(k);
	release_overdue(k);
	loop_watch_reader(k);
}

void loop_round(struct keeper *k, uint64_t max_wait_ns)
{
	uint32_t i = 0;

	if (k->pausing.on && !k->ncopies) {
		pausing_round(k, max_wait_ns);
		return;
	}
	k->news |= wait_stops(k, budget_sleep_ns(k, max_wait_ns));
	for (struct keeper *s = k; s; s = keeper_next(s, &i))
		look(s);
}

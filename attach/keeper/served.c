/* SPDX-License-Identifier: MIT */
#include "attach/keeper/served.h"

#include "attach/keeper/state.h"

static void add(_Atomic uint64_t *sum, uint64_t ns)
{
	atomic_fetch_add_explicit(sum, ns, memory_order_relaxed);
}

/* The parts are not stored at once; a reader may see those of two threads for a moment. */
static void note_worst(struct shared_worst *worst, const struct tracee *t, uint64_t now_ns)
{
	if (t->served_ns <= atomic_load_explicit(&worst->ns, memory_order_relaxed))
		return;
	atomic_store_explicit(&worst->since_ns, t->first_hit_ns, memory_order_relaxed);
	atomic_store_explicit(&worst->last_ns, now_ns, memory_order_relaxed);
	atomic_store_explicit(&worst->tid, (uint32_t)t->tid, memory_order_relaxed);
	atomic_store_explicit(&worst->ns, t->served_ns, memory_order_relaxed);
}

void served_add(struct keeper *k, struct tracee *t, uint64_t since_ns)
{
	struct shared_counts *counts = &k->shared->counts;
	const uint64_t now_ns = keeper_clock_ns(), ns = now_ns - since_ns;

	add(&counts->served_ns, ns);
	if (!t->has_hit)
		return;
	add(&counts->hit_served_ns, ns);
	t->served_ns += ns;
	note_worst(&counts->worst, t, now_ns);
}

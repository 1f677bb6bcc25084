/* SPDX-License-Identifier: MIT */
#include "attach/keeper/notify.h"

#include <unistd.h>

void notify_ring(const struct keeper *k)
{
	const uint64_t one = 1;

	/* EAGAIN: the counter is full, so it was rung */
	(void)!write(k->shared->bell, &one, sizeof(one));
}

void notify_for_held(struct keeper *k)
{
	atomic_store(&k->shared->ring.sleeping, 0);
	notify_ring(k);
}

/* No watch reads it yet: one should begin. */
static void notify_crowded(struct keeper *k)
{
	const uint64_t one = 1;

	if (ring_is_crowded(&k->shared->ring) && !atomic_exchange(&k->slot->crowded, 1))
		(void)!write(k->shared->slots->bell, &one, sizeof(one));
}

void notify_bell(struct keeper *k)
{
	struct ring *r = &k->shared->ring;
	bool crowded;

	if (!keeper_is_answered(k)) {
		notify_crowded(k);
		return;
	}

	if (!ring_wants_bell(r)) {
		k->reader.bell_rung = false;
		return;
	}
	crowded = ring_is_crowded(r);
	if (!atomic_exchange(&r->sleeping, 0) && (!crowded || k->reader.bell_rung))
		return;
	k->reader.bell_rung = crowded;
	notify_ring(k);
}

void notify_record(struct keeper *k, enum record_kind kind, uint16_t flags, pid_t tid, uint32_t site,
		   int64_t value)
{
	struct record *rec = ring_reserve(&k->shared->ring, sizeof(*rec));

	if (!rec) {
		atomic_fetch_add_explicit(&k->shared->counts.unrecorded, 1, memory_order_relaxed);
		return;
	}
	*rec = (struct record){
		.kind = kind, .flags = flags, .tid = tid, .site = site, .time_ns = k->now_ns, .value = value,
	};
	ring_commit(&k->shared->ring, rec, sizeof(*rec));
	notify_bell(k);
}

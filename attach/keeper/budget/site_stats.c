/* SPDX-License-Identifier: MIT */
#include "attach/keeper/budget/site_stats.h"

#include <sched.h>
#include <time.h>

#define QUICK_TRIES 100		/* the keeper is writing just now; */
#define TRIES 600		/* or waits for a processor: 50 ms */
#define WAIT_NS 100000

static uint64_t load(const _Atomic uint64_t *p)
{
	return atomic_load_explicit(p, memory_order_relaxed);
}

static void store(_Atomic uint64_t *p, uint64_t value)
{
	atomic_store_explicit(p, value, memory_order_relaxed);
}

static void copy(const struct site_stats *m, struct site_stats_sums *out)
{
	out->rounds = load(&m->rounds);
	out->full = load(&m->full);
	out->hits = load(&m->hits);
	out->exposed_us = load(&m->exposed_us);
	out->hits2 = load(&m->hits2);
	out->hits_exposed = load(&m->hits_exposed);
	out->exposed2 = load(&m->exposed2);
	out->missed = load(&m->missed);
	out->stood_us = load(&m->stood_us);
}

void site_stats_read(const struct site_stats *m, struct site_stats_sums *out)
{
	const struct timespec t = { .tv_nsec = WAIT_NS };

	/*
	 * a keeper that was killed while it wrote leaves the version odd: then the values must do as they are
	 */
	for (int tries = 0; tries < TRIES; tries++) {
		uint32_t before = atomic_load_explicit(&m->version, memory_order_acquire);

		copy(m, out);
		atomic_thread_fence(memory_order_acquire);
		if (!(before & 1) && before == atomic_load_explicit(&m->version, memory_order_relaxed))
			return;
		if (tries < QUICK_TRIES)
			sched_yield();
		else
			nanosleep(&t, NULL);
	}
}

/* Only the keeper writes. */
static void write_all(struct site_stats *m, const struct site_stats_sums *s)
{
	uint32_t version = atomic_load_explicit(&m->version, memory_order_relaxed);

	atomic_store_explicit(&m->version, version + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	store(&m->rounds, s->rounds);
	store(&m->full, s->full);
	store(&m->hits, s->hits);
	store(&m->exposed_us, s->exposed_us);
	store(&m->hits2, s->hits2);
	store(&m->hits_exposed, s->hits_exposed);
	store(&m->exposed2, s->exposed2);
	store(&m->missed, s->missed);
	store(&m->stood_us, s->stood_us);
	atomic_store_explicit(&m->version, version + 2, memory_order_release);
}

void site_stats_sum(struct site_stats_sums *to, const struct site_stats_sums *more)
{
	to->rounds += more->rounds;
	to->full += more->full;
	to->hits += more->hits;
	to->exposed_us += more->exposed_us;
	to->hits2 += more->hits2;
	to->hits_exposed += more->hits_exposed;
	to->exposed2 += more->exposed2;
	to->missed += more->missed;
	to->stood_us += more->stood_us;
}

void site_stats_subtract(struct site_stats_sums *from, const struct site_stats_sums *less)
{
	from->rounds -= less->rounds;
	from->full -= less->full;
	from->hits -= less->hits;
	from->exposed_us -= less->exposed_us;
	from->hits2 -= less->hits2;
	from->hits_exposed -= less->hits_exposed;
	from->exposed2 -= less->exposed2;
	from->missed -= less->missed;
	from->stood_us -= less->stood_us;
}

void site_stats_add(struct site_stats *m, const struct site_stats_span *its)
{
	struct site_stats_sums s;

	copy(m, &s);
	s.rounds++;
	s.full += its->full;
	s.hits += its->hits;
	s.exposed_us += its->exposed_us;
	s.hits2 += its->hits * its->hits;
	s.hits_exposed += its->hits * its->exposed_us;
	s.exposed2 += its->exposed_us * its->exposed_us;
	s.missed += its->missed;
	s.stood_us += its->stood_us;
	write_all(m, &s);
}

void site_stats_miss(struct site_stats *m)
{
	struct site_stats_sums s;

	copy(m, &s);
	s.missed++;
	write_all(m, &s);
}

void site_stats_clear(struct site_stats *m)
{
	write_all(m, &(struct site_stats_sums){ 0 });
}

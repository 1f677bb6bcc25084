/* SPDX-License-Identifier: MIT */
#include "attach/keeper/sched/fair.h"

#include <unistd.h>

void fair_init(struct fair *f)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	*f = (struct fair){ .processors = n > 0 ? n : 1, .least = UINT32_MAX };
}

static void begin_window(struct fair *f, struct threads *ts, uint64_t now_ns)
{
	struct tracee *t;
	uint32_t i = 0;

	f->window_ns = now_ns;
	f->most_before = 0;
	while ((t = threads_active(ts, &i, now_ns))) {
		t->hits_before = t->window_hits;
		t->window_hits = 0;
		t->peers_ns = 0;
		if (t->hits_before > f->most_before)
			f->most_before = t->hits_before;
	}
}

static bool is_peer(const struct fair *f, const struct tracee *t)
{
	return (t->state == TRACEE_RUNNING || t->state == TRACEE_STOPPED) &&
	       t->hits_before && (uint64_t)t->hits_before * FAIR_PEER >= f->most_before;
}

void fair_begin_round(struct fair *f, struct threads *ts, uint64_t now_ns)
{
	struct tracee *t;
	uint32_t i = 0;

	f->least = UINT32_MAX;
	if (ts->nactive <= f->processors)
		return;
	if (now_ns - f->window_ns >= FAIR_WINDOW_NS)
		begin_window(f, ts, now_ns);
	while ((t = threads_active(ts, &i, now_ns)))
		if (is_peer(f, t) && t->window_hits < f->least)
			f->least = t->window_hits;
}

bool fair_must_wait(const struct fair *f, struct tracee *t, uint64_t now_ns)
{
	uint64_t waited_ns = now_ns - t->seen_ns;

	if (!t->active || t->window_hits <= f->least || t->window_hits - f->least <= FAIR_LEAD)
		return false;
	if (waited_ns >= FAIR_WAIT_NS || t->peers_ns + waited_ns >= FAIR_WINDOW_NS / 2)
		return false;
	t->waits_for_peers = true;
	return true;
}

void fair_served(struct tracee *t, uint64_t now_ns)
{
	if (t->waits_for_peers)
		t->peers_ns += now_ns - t->seen_ns;
	t->waits_for_peers = false;
}

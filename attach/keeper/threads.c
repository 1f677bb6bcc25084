/* SPDX-License-Identifier: MIT */
#include "attach/keeper/threads.h"

#include <string.h>

#include "attach/keeper/traps/calls.h"

static uint32_t slot_of(pid_t tid)
{
	return ((uint32_t)tid * 2654435761u) & (THREADS_HASH - 1);
}

static uint32_t find_slot(const struct threads *ts, pid_t tid)
{
	uint32_t s = slot_of(tid);

	while (ts->slots[s] && ts->all[ts->slots[s] - 1].tid != tid)
		s = (s + 1) & (THREADS_HASH - 1);
	return s;
}

struct tracee *threads_find(struct threads *ts, pid_t tid)
{
	uint32_t s = find_slot(ts, tid);

	return ts->slots[s] ? &ts->all[ts->slots[s] - 1] : NULL;
}

struct tracee *threads_add(struct threads *ts, pid_t tid)
{
	uint32_t s = find_slot(ts, tid);
	struct tracee *t;

	if (ts->slots[s])
		return &ts->all[ts->slots[s] - 1];
	if (ts->used == THREADS_MAX)
		return NULL;
	while (ts->all[ts->next_free].state != TRACEE_FREE)
		ts->next_free = (ts->next_free + 1) % THREADS_MAX;
	t = &ts->all[ts->next_free];
	memset(t, 0, sizeof(*t));
	t->tid = tid;
	t->state = TRACEE_RUNNING;
	t->stepping = NO_TRAP;
	t->redo = NO_TRAP;
	t->calls = NO_CALL;
	ts->slots[s] = ts->next_free + 1;
	if (ts->next_free >= ts->bound)
		ts->bound = ts->next_free + 1;
	ts->next_free = (ts->next_free + 1) % THREADS_MAX;
	ts->used++;
	return t;
}

/* Close the gap at @hole, so that no search ends too early. */
static void close_gap(struct threads *ts, uint32_t hole)
{
	uint32_t s = hole;

	for (;;) {
		uint32_t home;

		s = (s + 1) & (THREADS_HASH - 1);
		if (!ts->slots[s])
			break;
		home = slot_of(ts->all[ts->slots[s] - 1].tid);
		if (((s - home) & (THREADS_HASH - 1)) >= ((s - hole) & (THREADS_HASH - 1))) {
			ts->slots[hole] = ts->slots[s];
			hole = s;
		}
	}
	ts->slots[hole] = 0;
}

static void drop_active(struct threads *ts, uint32_t i)
{
	ts->all[ts->active[i]].active = false;
	ts->active[i] = ts->active[--ts->nactive];
}

void threads_remove(struct threads *ts, struct tracee *t)
{
	uint32_t index = t - ts->all;

	for (uint32_t i = 0; t->active && i < ts->nactive; i++)
		if (ts->active[i] == index)
			drop_active(ts, i);
	close_gap(ts, find_slot(ts, t->tid));
	t->state = TRACEE_FREE;
	ts->used--;
	ts->hitting -= t->has_hit;
	while (ts->bound && ts->all[ts->bound - 1].state == TRACEE_FREE)
		ts->bound--;
	if (ts->next_free > ts->bound)
		ts->next_free = ts->bound;
}

void threads_mark_active(struct threads *ts, struct tracee *t, uint64_t now_ns)
{
	t->last_hit_ns = now_ns;
	t->window_hits++;
	if (t->active || ts->nactive == ACTIVE_MAX)
		return;
	t->active = true;
	t->window_hits = 1;
	t->hits_before = 0;
	t->peers_ns = 0;
	ts->active[ts->nactive++] = t - ts->all;
}

struct tracee *threads_active(struct threads *ts, uint32_t *i, uint64_t now_ns)
{
	while (*i < ts->nactive) {
		struct tracee *t = &ts->all[ts->active[*i]];

		if (now_ns - t->last_hit_ns < ACTIVE_NS) {
			++*i;
			return t;
		}
		drop_active(ts, *i);
	}
	return NULL;
}

struct tracee *threads_from(struct threads *ts, uint32_t i)
{
	for (; i < ts->bound; i++)
		if (ts->all[i].state != TRACEE_FREE)
			return &ts->all[i];
	return NULL;
}

struct tracee *threads_first(struct threads *ts)
{
	return threads_from(ts, 0);
}

struct tracee *threads_next(struct threads *ts, const struct tracee *t)
{
	return threads_from(ts, t - ts->all + 1);
}

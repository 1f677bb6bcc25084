/* SPDX-License-Identifier: MIT */
#include "attach/uprobe/uprobe_calls.h"

#include <errno.h>
#include <string.h>

#include "attach/keeper/shared/event.h"

void uprobe_calls_init(struct uprobe_calls *c)
{
	calls_init(&c->calls);
	addrmap_init(&c->threads, sizeof(struct uprobe_thread));
	c->generation = 0;
	c->dropped = 0;
	c->sampled = false;
}

void uprobe_calls_fini(struct uprobe_calls *c)
{
	addrmap_fini(&c->threads);
}

static void drop_calls(struct uprobe_calls *c, struct uprobe_thread *t)
{
	for (uint16_t i = t->open; i != NO_CALL; i = c->calls.all[i].next)
		c->dropped++;
	calls_drop(&c->calls, &t->open);
}

static struct uprobe_thread *thread(struct uprobe_calls *c, uint32_t tid)
{
	struct uprobe_thread *t = addrmap_get(&c->threads, tid);

	if (!t) {
		t = addrmap_slot(&c->threads, tid, NULL);
		if (!t)
			return NULL;
		*t = (struct uprobe_thread){ .open = NO_CALL, .generation = c->generation };
	}
	if (t->generation != c->generation) {
		drop_calls(c, t);
		t->closed = 0;
	}
	t->generation = c->generation;
	return t;
}

void uprobe_calls_forget(struct uprobe_calls *c)
{
	c->generation++;
}

/* rsp at the entry of the function that the hit is about; at a return it is one word higher. */
static taddr entry_sp(const struct uprobe_head *h, const struct site *s, taddr sp)
{
	if (s->flags & SITE_RETURNS && !(h->flags & UPROBE_AT_ENTRY))
		return sp - 8;
	return sp + (taddr)(int64_t)s->sp_delta;
}

/* Of a sample, the kernel records outermost calls alone: those around this one were left by an exception. */
static void leave_around(struct uprobe_calls *c, uint16_t *open, taddr sp, uint16_t family)
{
	const struct call *left;

	while ((left = calls_around(&c->calls, open, sp, family)))
		calls_remove(&c->calls, open, left);
}

/*
 * The call that began with this rsp, if the kernel has its return: that of a function which has jumped to another one,
 * whose `ret` is probed. There the stack has the kernel's address in place of the caller's.
 */
static bool has_return(struct uprobe_calls *c, uint16_t *open, taddr sp, uint16_t family)
{
	const struct call *call = calls_around(&c->calls, open, sp, family);

	return call && call->sp == sp && call->ret;
}

static void at_entry(struct uprobe_calls *c, struct uprobe_thread *t, uint32_t number, const struct site *s, taddr sp,
		     const uint64_t args[6], struct uprobe_meaning *m)
{
	struct call call = { .sp = sp, .trap = number, .family = s->family };
	uint16_t *open = &t->open;
	const bool event = s->flags & (s->flags & SITE_RETURNS ? SITE_OPENING : SITE_EMIT);
	bool inside, tail;

	/* a return from here on is not that of the call which has ended last, also if this one cannot be stored */
	t->closed = 0;
	if (c->sampled)
		leave_around(c, open, sp, s->family);
	inside = calls_inside(&c->calls, open, sp, s->family);
	call.ret = s->flags & SITE_RETURNS || has_return(c, open, sp, s->family);
	memcpy(call.args, args, sizeof(call.args));
	if (!calls_open(&c->calls, open, &call, &tail)) {
		c->dropped++;
		return;
	}
	m->emit = event && !inside && !tail;
	m->flags = RECORD_OPENS;
}

static bool closed_already(const struct uprobe_thread *t, const struct site *s, taddr sp)
{
	return t->closed == sp && t->closed_family == s->family;
}

static void at_exit_of(struct uprobe_calls *c, struct uprobe_thread *t, const struct site *s, taddr sp,
		       struct uprobe_meaning *m)
{
	const bool returns = s->flags & SITE_RETURNS;

	if (!returns && has_return(c, &t->open, sp, s->family))
		return;
	m->has_call = calls_close(&c->calls, &t->open, sp, s->family, &m->call);
	if (m->has_call)
		m->flags = RECORD_CLOSES;
	else if (!returns || !(s->flags & SITE_ENTRY))
		m->flags = RECORD_STATIC;
	else if (!closed_already(t, s, sp))
		m->flags = RECORD_UNOPENED;
	else
		return;
	if (returns) {
		t->closed = sp;
		t->closed_family = s->family;
	}
	m->emit = s->flags & SITE_EMIT && !calls_inside(&c->calls, &t->open, sp, s->family);
}

static void at_once(struct uprobe_calls *c, uint16_t *open, const struct site *s, taddr sp, struct uprobe_meaning *m)
{
	const bool within = s->flags & SITE_INNER && calls_inside(&c->calls, open, sp, s->family);

	m->emit = s->flags & SITE_EMIT && (!within || s->flags & SITE_RELEASE);
	m->flags = within ? RECORD_WITHIN : 0;
}

int uprobe_calls_hit(struct uprobe_calls *c, const struct uprobe_head *h, const struct site *s, taddr sp,
		     const uint64_t args[6], struct uprobe_meaning *m)
{
	struct uprobe_thread *t = thread(c, h->tid);
	const taddr entry = entry_sp(h, s, sp);

	*m = (struct uprobe_meaning){ 0 };
	if (!t)
		return -ENOMEM;
	if (h->flags & UPROBE_AT_ENTRY)
		at_entry(c, t, h->site, s, entry, args, m);
	else if (s->flags & SITE_EXIT)
		at_exit_of(c, t, s, entry, m);
	else
		at_once(c, &t->open, s, entry, m);
	return 0;
}

void uprobe_calls_end(struct uprobe_calls *c, uint32_t tid)
{
	struct uprobe_thread *t = addrmap_get(&c->threads, tid);

	if (!t)
		return;
	calls_drop(&c->calls, &t->open);
	addrmap_del(&c->threads, tid, NULL);
}

const struct uprobe_thread *uprobe_calls_cost(struct uprobe_calls *c, const struct uprobe_head *h, uint64_t ns)
{
	struct uprobe_thread *t = addrmap_get(&c->threads, h->tid);

	if (!t)
		return NULL;
	t->first_ns = t->first_ns ? t->first_ns : h->time_ns;
	t->cost_ns += ns;
	return t;
}

uint32_t uprobe_calls_threads(const struct uprobe_calls *c)
{
	return (uint32_t)addrmap_count(&c->threads);
}

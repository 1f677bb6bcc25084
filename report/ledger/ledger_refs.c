/* SPDX-License-Identifier: MIT */
/*
 * ledger_refs: which objects have a net count of references that is not 0, and which stacks acquired and
 * released these.
 *
 *	event ──▶ the stack's place (acquired, released in all)
 *	      └─▶ the object (net) and its use by that stack
 *
 * An object's own count, if an event has it, overrides what was seen: so the result is right for objects
 * older than the watch, and for references acquired where nothing is watched. An object whose net count is 0
 * is gone, and what was acquired on it is subtracted from the places.
 */
#include <errno.h>

#include "report/ledger/ledger_parts.h"

static struct ledger_book *book_now(struct ledger *l)
{
	return &l->books[l->family];
}

static int table_now(struct ledger *l, struct objects **out)
{
	struct ledger_book *book = book_now(l);
	int r = book->objects ? 0 : objects_new(&book->objects);

	*out = book->objects;
	return r;
}

/* --- an object --- */

static int begin(struct ledger *l, taddr addr, struct object **out)
{
	struct objects *os;
	int r = table_now(l, &os);

	if (r < 0)
		return r;
	*out = objects_add(os, addr);
	if (!*out)
		return -ENOMEM;
	(*out)->birth_us = l->now_us;
	return 0;
}

static int end(struct ledger *l, taddr addr, const struct object *o)
{
	for (uint32_t i = 0; i < o->nuses; i++) {
		struct place *p =
			o->uses[i].acquired ? ledger_place_now(l, l->family, o->uses[i].stack) : NULL;

		if (o->uses[i].acquired && !p)
			return -ENOMEM;
		if (!p)
			continue;
		p->blocks -= o->uses[i].acquired;
		p->bytes -= o->uses[i].acquired;
	}
	objects_remove(book_now(l)->objects, addr);
	return 0;
}

/* @stack has acquired @taken and released @dropped of its references. */
static int use(struct ledger *l, struct object *o, uint32_t stack, uint64_t taken, uint64_t dropped)
{
	struct object_use *u = objects_use(book_now(l)->objects, o, stack);
	struct place *p = u ? ledger_place_now(l, l->family, stack) : NULL;

	if (!p)
		return -ENOMEM;
	u->acquired += taken;
	u->released += dropped;
	p->blocks += taken;
	p->bytes += taken;
	return 0;
}

static void change_net(struct object *o, uint64_t by)
{
	o->net = (int64_t)((uint64_t)o->net + by);
}

static void set_net(struct object *o, uint64_t count)
{
	o->net = (int64_t)count;
	o->counted = true;
}

static int end_if_even(struct ledger *l, taddr addr, const struct object *o)
{
	return o->net ? 0 : end(l, addr, o);
}

/* --- events --- */

static int count_at_place(struct ledger *l, uint32_t stack, uint64_t taken, uint64_t dropped)
{
	struct place *p = ledger_place_now(l, l->family, stack);

	if (!p)
		return -ENOMEM;
	p->allocs += taken;
	p->frees += dropped;
	book_now(l)->acquired += taken;
	book_now(l)->released += dropped;
	return 0;
}

static bool leaves_none(const struct fact *f)
{
	return f->ref.count == 1;
}

static int take_ref(struct ledger *l, const struct fact *f, uint32_t stack)
{
	bool more = f->ref.count != FACT_NONE && f->ref.count - 1 > f->ref.by;
	struct object *o = objects_get(book_now(l)->objects, f->ref.addr);
	int r = count_at_place(l, stack, f->ref.by, 0);

	if (r == 0 && !o) {
		r = begin(l, f->ref.addr, &o);
		if (r == 0)
			o->older = more && f->kind != MMT_BORN;
	}
	if (r == 0)
		r = use(l, o, stack, f->ref.by, 0);
	if (r < 0)
		return r;
	if (f->ref.count != FACT_NONE)
		set_net(o, f->ref.count - 1);
	else
		change_net(o, f->ref.by);
	return end_if_even(l, f->ref.addr, o);
}

static int take_unref(struct ledger *l, const struct fact *f, uint32_t stack)
{
	struct object *o = objects_get(book_now(l)->objects, f->ref.addr);
	int r = count_at_place(l, stack, 0, f->ref.by);

	if (r == 0 && !o) {
		r = begin(l, f->ref.addr, &o);
		if (r == 0)
			o->older = true;
	}
	if (r == 0)
		r = use(l, o, stack, 0, f->ref.by);
	if (r < 0)
		return r;
	if (f->ref.count != FACT_NONE)
		set_net(o, f->ref.count - 1);
	else
		change_net(o, -f->ref.by);
	return end_if_even(l, f->ref.addr, o);
}

/* An object that was at this address before no longer exists, whether its end was seen or not. */
static int take_born(struct ledger *l, const struct fact *f, uint32_t stack)
{
	const struct object *old = objects_get(book_now(l)->objects, f->ref.addr);
	int r = old ? end(l, f->ref.addr, old) : 0;

	l->reborn += old ? 1 : 0;
	return r < 0 ? r : take_ref(l, f, stack);
}

static int take_change(struct ledger *l, const struct fact *f)
{
	bool ends = f->kind == MMT_BORN || leaves_none(f);
	uint32_t stack;
	int r = ledger_stack(l, f->ref.stack, &stack);

	if (r == 0)
		r = ledger_older_ref(l, f, stack, ends);
	if (r < 0)
		return r;
	if (f->kind == MMT_BORN)
		return take_born(l, f, stack);
	if (r == 1)
		return 0;
	return f->kind == MMT_REF ? take_ref(l, f, stack) : take_unref(l, f, stack);
}

static int take_counted(struct ledger *l, const struct fact *f)
{
	struct object *o = objects_get(book_now(l)->objects, f->ref.addr);
	int r = ledger_older_ref(l, f, 0, !f->ref.count);

	if (r || !o)
		return r < 0 ? r : 0;
	set_net(o, f->ref.count);
	return end_if_even(l, f->ref.addr, o);
}

/* --- facts of a shrunken trace --- */

static int take_uses(struct ledger *l, const struct fact *f, struct object *o)
{
	int r = 0;

	for (uint32_t i = 0; i < f->object.nuses && r == 0; i++) {
		const struct fact_use *its = &f->object.uses[i];
		uint32_t stack;

		r = ledger_stack(l, its->stack, &stack);
		if (r == 0)
			r = use(l, o, stack, its->acquired, its->released);
	}
	return r;
}

static int make_object(struct ledger *l, const struct fact *f, struct object **out)
{
	int r = begin(l, f->object.addr, out);

	if (r < 0)
		return r;
	(*out)->older = f->object.older;
	if (f->object.birth_us < l->now_us)
		(*out)->birth_us = f->object.birth_us;
	return 0;
}

/* An object that began in the shrunken part replaces the one at this address; an older one is added to it. */
static int take_object(struct ledger *l, const struct fact *f)
{
	struct object *o = objects_get(book_now(l)->objects, f->object.addr);
	int r = ledger_older_object(l, f->object.addr, f->object.older);

	if (r == 0 && o && !f->object.older) {
		l->reborn++;
		r = end(l, f->object.addr, o);
		o = NULL;
	}
	if (r == 0 && !o)
		r = make_object(l, f, &o);
	if (r == 0)
		r = take_uses(l, f, o);
	if (r < 0)
		return r;
	if (f->object.counted)
		set_net(o, (uint64_t)f->object.net);
	else
		change_net(o, (uint64_t)f->object.net);
	return end_if_even(l, f->object.addr, o);
}

/* --- all --- */

int ledger_take_ref(struct ledger *l, const struct fact *f)
{
	switch (f->kind) {
	case MMT_COUNTED:
		return take_counted(l, f);
	case MMT_OBJECT:
		return take_object(l, f);
	default:
		return take_change(l, f);
	}
}

int ledger_forget_object(struct ledger *l, taddr addr)
{
	const struct object *o = objects_get(book_now(l)->objects, addr);

	return o ? end(l, addr, o) : ledger_older_forgotten(l, addr);
}

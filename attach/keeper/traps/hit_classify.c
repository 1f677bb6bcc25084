/* SPDX-License-Identifier: MIT */
#include "attach/keeper/traps/hit_classify.h"

/* rsp at the entry of the function that the hit is about. */
static taddr entry_sp(const struct site *s, const struct user_regs_struct *regs)
{
	return s->flags & SITE_AFTER ? regs->rsp - 8 : regs->rsp + s->sp_delta;
}

/* Was this hit recorded already, and only its instruction not carried out, because of a signal? */
static bool redone(struct tracee *t, uint32_t trap, taddr sp)
{
	bool same = t->redo == trap && t->redo_sp == sp;

	/* hits below redo_sp are a signal handler's: the thread returns to here */
	if (same || sp > t->redo_sp)
		t->redo = NO_TRAP;
	return same;
}

static bool is_outside(struct keeper *k, struct tracee *t, const struct site *s, taddr sp)
{
	const struct call *c;
	taddr ret;

	bool counts = s->flags & SITE_AFTER || (s->family != SITE_FAMILY_NONE && s->family != SITE_FAMILY_IN);

	if (!k->shared->scoped || !counts)
		return false;
	while ((c = calls_around(&k->calls, &t->calls, sp, SITE_FAMILY_IN))) {
		if (c->ret && remote_loads_word(keeper_memory(k, t), c->sp, &ret) && ret == c->ret)
			return false;
		calls_remove(&k->calls, &t->calls, c);
	}
	return true;
}

static void classify_entry(struct keeper *k, struct tracee *t, uint32_t trap,
			   const struct user_regs_struct *regs, taddr ret, struct hit_class *m)
{
	const struct site *s = &k->traps.all[trap].site;
	const struct call call = {
		.sp = entry_sp(s, regs), .ret = ret, .trap = trap, .family = s->family,
		.args = { regs->rdi, regs->rsi, regs->rdx, regs->rcx, regs->r8, regs->r9 },
	};
	bool inside = calls_inside(&k->calls, &t->calls, call.sp, s->family), tail;

	if (!calls_open(&k->calls, &t->calls, &call, &tail)) {
		atomic_fetch_add_explicit(&k->shared->counts.unopened, 1, memory_order_relaxed);
		return;
	}
	m->emit = (s->flags & SITE_EMIT) && !inside && !tail;
	m->flags = RECORD_OPENS;
}

static void classify_exit(struct keeper *k, struct tracee *t, const struct site *s, taddr sp,
			  struct hit_class *m)
{
	bool open = calls_close(&k->calls, &t->calls, sp, s->family, &m->call);

	m->flags = open ? RECORD_CLOSES : RECORD_STATIC;
	m->emit = (s->flags & SITE_EMIT) && !calls_inside(&k->calls, &t->calls, sp, s->family);
}

/* false: no (other) open call returns to here: the function that did was not watched. */
static bool classify_after(struct keeper *k, struct tracee *t, const struct user_regs_struct *regs, taddr sp,
			   struct hit_class *m)
{
	if (!calls_close_any(&k->calls, &t->calls, sp, regs->rip, &m->call))
		return false;
	m->flags = RECORD_CLOSES;
	m->emit = m->call.family != SITE_FAMILY_IN && !calls_inside(&k->calls, &t->calls, sp, m->call.family);
	return true;
}

/*
 * A block that is freed during an allocation may be the program's, or internal to the allocator: the
 * controller, which knows the blocks, decides.
 */
static void classify_plain(struct keeper *k, struct tracee *t, const struct site *s, taddr sp,
			   struct hit_class *m)
{
	bool within = (s->flags & SITE_INNER) && calls_inside(&k->calls, &t->calls, sp, s->family);

	m->emit = (s->flags & SITE_EMIT) && (!within || s->flags & SITE_RELEASE);
	if (within)
		m->flags = RECORD_WITHIN;
}

uint32_t hit_classify_most(struct keeper *k, struct tracee *t, uint32_t trap,
			   const struct user_regs_struct *regs)
{
	const struct site *s = &k->traps.all[trap].site;
	uint32_t n = s->flags & SITE_AFTER ? calls_at(&k->calls, &t->calls, entry_sp(s, regs)) : 1;

	return n ? n : 1;
}

static void mark_outside(struct hit_class *m)
{
	if (m->outside)
		m->flags |= RECORD_OUTSIDE;
}

void hit_classify(struct keeper *k, struct tracee *t, uint32_t trap, const struct user_regs_struct *regs,
		  taddr ret, struct hit_class *m)
{
	const struct site *s = &k->traps.all[trap].site;
	taddr sp = entry_sp(s, regs);

	m->emit = false;
	m->outside = false;
	m->flags = 0;
	if (redone(t, trap, regs->rsp))
		return;
	m->outside = is_outside(k, t, s, sp);
	if (s->flags & SITE_ENTRY)
		classify_entry(k, t, trap, regs, ret, m);
	else if (s->flags & SITE_EXIT)
		classify_exit(k, t, s, sp, m);
	else if (s->flags & SITE_AFTER)
		(void)classify_after(k, t, regs, sp, m);
	else
		classify_plain(k, t, s, sp, m);
	mark_outside(m);
}

void hit_classify_unreturned(struct keeper *k, struct tracee *t, uint32_t trap,
			     const struct user_regs_struct *regs)
{
	struct trap *at = &k->traps.all[trap];
	const struct site *s = &at->site;
	const taddr sp = entry_sp(s, regs);
	bool open = s->family == SITE_FAMILY_IN && !at->unreturned;
	struct call call;

	at->unreturned = true;
	/* of a family, what has jumped here ends with it */
	while (s->family != SITE_FAMILY_IN && calls_close(&k->calls, &t->calls, sp, s->family, &call))
		open = true;
	if (open)
		atomic_fetch_add_explicit(&k->shared->counts.unreturned, 1, memory_order_relaxed);
}

bool hit_classify_more(struct keeper *k, struct tracee *t, uint32_t trap, const struct user_regs_struct *regs,
		       struct hit_class *m)
{
	const struct site *s = &k->traps.all[trap].site;

	if (!(s->flags & SITE_AFTER) || !classify_after(k, t, regs, entry_sp(s, regs), m))
		return false;
	mark_outside(m);
	return true;
}

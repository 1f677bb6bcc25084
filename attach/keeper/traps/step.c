/* SPDX-License-Identifier: MIT */
#include "attach/keeper/traps/step.h"

#include <errno.h>

#include "attach/keeper/notify.h"

#ifndef TRAP_TRACE
#define TRAP_TRACE 2
#endif

/*
 * There is no emulation and no padding, or the instruction's own memory access would fault: let the thread
 * run it in place, with the trap lifted for that moment. Other threads may run past it meanwhile: that is
 * counted.
 */
static void step_in_place(struct keeper *k, struct tracee *t, uint32_t trap)
{
	atomic_fetch_add_explicit(&k->shared->counts.stepped, 1, memory_order_relaxed);
	t->in_place = true;
	if (trap_step_begin(&k->traps, k->mem, trap) < 0)
		notify_record(k, RECORD_TROUBLE, 0, t->tid, TROUBLE_LIFT, EIO);
	if (tracee_step(t, 0) < 0)
		step_end_in_place(k, t);
}

void step_end_in_place(struct keeper *k, struct tracee *t)
{
	if (!t->in_place || t->stepping == NO_TRAP)
		return;
	t->in_place = false;
	if (trap_step_end(&k->traps, k->mem, t->stepping) < 0)
		notify_record(k, RECORD_TROUBLE, 0, t->tid, TROUBLE_EMULATE, EIO);
	budget_stepped(k, t->stepping);
}

void step_begin(struct keeper *k, struct tracee *t, uint32_t trap, struct user_regs_struct *before,
		struct user_regs_struct *regs, bool displaced)
{
	const struct site *s = &k->traps.all[trap].site;

	t->stepping = trap;
	t->redo = trap;
	t->redo_sp = regs->rsp;
	regs->rip = displaced ? s->scratch : s->addr;
	if (tracee_set_regs(t, before, regs) < 0) {
		t->state = TRACEE_RUNNING; /* killed: its end follows */
		return;
	}
	if (displaced)
		(void)!tracee_step(t, 0); /* gone: its end follows */
	else
		step_in_place(k, t, trap);
}

void step_end(struct keeper *k, struct tracee *t, struct user_regs_struct *regs)
{
	const struct site *s = &k->traps.all[t->stepping].site;
	struct user_regs_struct after = *regs;
	bool displaced = !t->in_place;

	if (!k->leaving)
		step_end_in_place(k, t);
	if (displaced && regs->rip == s->scratch + s->emu.len)
		after.rip = s->addr + s->emu.len;
	else if (displaced && regs->rip == s->scratch)
		after.rip = s->addr;
	if (after.rip != s->addr)
		t->redo = NO_TRAP; /* the instruction was carried out */
	t->in_place = false;
	t->stepping = NO_TRAP;
	if (tracee_set_regs(t, regs, &after) < 0)
		t->state = TRACEE_RUNNING;
	*regs = after;
}

void step_break_off(struct keeper *k, struct tracee *t)
{
	struct user_regs_struct regs;

	if (t->stepping == NO_TRAP || tracee_regs(t, &regs) < 0)
		return;
	step_end(k, t, &regs);
}

bool step_is_done(const struct tracee *t)
{
	int code = 0;

	return t->stepping != NO_TRAP && tracee_signal_code(t, &code) == 0 && code == TRAP_TRACE;
}

bool step_settle(struct keeper *k, struct tracee *t)
{
	if (!step_is_done(t))
		return false;
	step_break_off(k, t);
	return true;
}

bool step_on_the_way(const struct tracee *t)
{
	int code = 0;

	return t->stepping != NO_TRAP && tracee_pending(t, SIGTRAP, &code) && code == TRAP_TRACE;
}

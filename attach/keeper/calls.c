/* SPDX-License-Identifier: MIT */
#include "attach/keeper/calls.h"

void calls_init(struct calls *c)
{
	c->free = 0;
	for (uint32_t i = 0; i < CALLS_MAX; i++)
		c->all[i].next = i + 1 < CALLS_MAX ? i + 1 : NO_CALL;
}

static void pop(struct calls *c, struct tracee *t)
{
	uint16_t i = t->calls;

	t->calls = c->all[i].next;
	c->all[i].next = c->free;
	c->free = i;
}

/* Calls that began below @sp have been left without our seeing it. */
static struct call *innermost(struct calls *c, struct tracee *t, taddr sp)
{
	while (t->calls != NO_CALL && c->all[t->calls].sp < sp)
		pop(c, t);
	return t->calls == NO_CALL ? NULL : &c->all[t->calls];
}

bool calls_open(struct calls *c, struct tracee *t, taddr sp, uint32_t trap, uint16_t family,
		const struct user_regs_struct *regs, bool *tail)
{
	struct call *top = innermost(c, t, sp);
	uint16_t i = c->free;

	*tail = top && top->sp == sp && top->family == family && top->trap != trap;
	if (*tail)
		return true;
	/* the same function at the same place again: the first was left by longjmp */
	if (top && top->sp == sp && top->trap == trap)
		pop(c, t);
	if (c->free == NO_CALL)
		return false;
	i = c->free;
	c->free = c->all[i].next;
	c->all[i] = (struct call){
		.sp = sp, .trap = trap, .family = family, .next = t->calls,
		.args = { regs->rdi, regs->rsi, regs->rdx, regs->rcx, regs->r8, regs->r9 },
	};
	t->calls = i;
	return true;
}

bool calls_inside(struct calls *c, struct tracee *t, taddr sp, uint16_t family)
{
	if (t->calls == NO_CALL)
		return false;
	innermost(c, t, sp);
	for (uint16_t i = t->calls; i != NO_CALL; i = c->all[i].next)
		if (c->all[i].family == family && c->all[i].sp > sp)
			return true;
	return false;
}

bool calls_close(struct calls *c, struct tracee *t, taddr sp, uint16_t family, struct call *out)
{
	struct call *top;

	if (t->calls == NO_CALL)
		return false;
	top = innermost(c, t, sp);
	if (!top || top->sp != sp || top->family != family)
		return false;
	*out = *top;
	pop(c, t);
	return true;
}

void calls_drop(struct calls *c, struct tracee *t)
{
	while (t->calls != NO_CALL)
		pop(c, t);
}

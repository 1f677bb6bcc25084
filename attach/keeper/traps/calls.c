/* SPDX-License-Identifier: MIT */
#include "attach/keeper/traps/calls.h"

void calls_init(struct calls *c)
{
	c->free = NO_CALL;
	c->used = 0;
}

/* NO_CALL: the pool is empty. */
static uint16_t take(struct calls *c)
{
	const uint16_t i = c->free;

	if (i == NO_CALL)
		return c->used < CALLS_MAX ? (uint16_t)c->used++ : NO_CALL;
	c->free = c->all[i].next;
	return i;
}

/* Remove the call that *@link names. */
static void drop(struct calls *c, uint16_t *link)
{
	uint16_t i = *link;

	*link = c->all[i].next;
	c->all[i].next = c->free;
	c->free = i;
}

/* Forget calls that began below @sp: they were left unseen. */
static void forget_below(struct calls *c, uint16_t *open, taddr sp)
{
	while (*open != NO_CALL && c->all[*open].sp < sp)
		drop(c, open);
}

/* The link to the innermost call of @family at @sp, or NULL. */
static uint16_t *link_at(struct calls *c, uint16_t *open, taddr sp, uint16_t family)
{
	for (uint16_t *l = open; *l != NO_CALL && c->all[*l].sp == sp; l = &c->all[*l].next)
		if (c->all[*l].family == family)
			return l;
	return NULL;
}

bool calls_open(struct calls *c, uint16_t *open, const struct call *call, bool *tail)
{
	uint16_t *same, i;

	forget_below(c, open, call->sp);
	same = link_at(c, open, call->sp, call->family);
	*tail = same && c->all[*same].trap != call->trap;
	if (*tail) {
		c->all[*same].ret = call->ret;
		return true;
	}
	/*
	 * the same function with the same rsp again: the first call was left by longjmp, and with it calls
	 * that were opened after it
	 */
	while (same && link_at(c, open, call->sp, call->family))
		drop(c, open);
	i = take(c);
	if (i == NO_CALL)
		return false;
	c->all[i] = *call;
	c->all[i].next = *open;
	*open = i;
	return true;
}

bool calls_inside(struct calls *c, uint16_t *open, taddr sp, uint16_t family)
{
	forget_below(c, open, sp);
	for (uint16_t i = *open; i != NO_CALL; i = c->all[i].next)
		if (c->all[i].family == family && c->all[i].sp > sp)
			return true;
	return false;
}

bool calls_close(struct calls *c, uint16_t *open, taddr sp, uint16_t family, struct call *out)
{
	uint16_t *link;

	forget_below(c, open, sp);
	link = link_at(c, open, sp, family);
	if (!link)
		return false;
	*out = c->all[*link];
	drop(c, link);
	return true;
}

bool calls_close_any(struct calls *c, uint16_t *open, taddr sp, taddr ret, struct call *out)
{
	forget_below(c, open, sp);
	for (uint16_t *l = open; *l != NO_CALL && c->all[*l].sp == sp; l = &c->all[*l].next) {
		if (c->all[*l].ret && c->all[*l].ret != ret)
			continue;
		*out = c->all[*l];
		drop(c, l);
		return true;
	}
	return false;
}

uint32_t calls_at(struct calls *c, uint16_t *open, taddr sp)
{
	uint32_t n = 0;

	forget_below(c, open, sp);
	for (uint16_t i = *open; i != NO_CALL && c->all[i].sp == sp; i = c->all[i].next)
		n++;
	return n;
}

const struct call *calls_around(struct calls *c, uint16_t *open, taddr sp, uint16_t family)
{
	forget_below(c, open, sp);
	for (uint16_t i = *open; i != NO_CALL; i = c->all[i].next)
		if (c->all[i].family == family)
			return &c->all[i];
	return NULL;
}

void calls_remove(struct calls *c, uint16_t *open, const struct call *call)
{
	for (uint16_t *l = open; *l != NO_CALL; l = &c->all[*l].next) {
		if (&c->all[*l] == call) {
			drop(c, l);
			return;
		}
	}
}

void calls_drop(struct calls *c, uint16_t *open)
{
	while (*open != NO_CALL)
		drop(c, open);
}

void calls_copy(struct calls *c, uint16_t *open, const struct calls *from, uint16_t its)
{
	uint16_t *end = open;

	for (; its != NO_CALL; its = from->all[its].next) {
		const uint16_t i = take(c);

		if (i == NO_CALL)
			break;
		c->all[i] = from->all[its];
		c->all[i].next = NO_CALL;
		*end = i;
		end = &c->all[i].next;
	}
}

void calls_renumber(struct calls *c, uint16_t *open, const uint16_t *map, uint16_t none)
{
	for (uint16_t *l = open; *l != NO_CALL;) {
		struct call *call = &c->all[*l];

		if (map[call->trap] == none) {
			drop(c, l);
			continue;
		}
		call->trap = map[call->trap];
		l = &call->next;
	}
}

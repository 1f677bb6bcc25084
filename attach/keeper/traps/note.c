/* SPDX-License-Identifier: MIT */
#include "attach/keeper/traps/note.h"

#include <errno.h>

#include "attach/keeper/hold.h"
#include "attach/keeper/traps/emit.h"

/* The return address of a call that begins, where it is needed: to plant a trap there, or to know later whether it was left. */
static taddr return_address(const struct keeper *k, const struct tracee *t, const struct site *s, const struct user_regs_struct *regs)
{
	bool scope = s->family == SITE_FAMILY_IN && s->flags & SITE_ENTRY;
	taddr ret;

	if (!(s->flags & SITE_RETURN) && !scope)
		return 0;
	return loads_word(keeper_memory(k, t), regs->rsp + s->sp_delta, &ret) ? ret : 0;
}

/* A hit where several calls end has an event for each; the first is emitted already. @room: there was some for all. */
static void emit_more(struct keeper *k, struct tracee *t, uint32_t trap, const struct user_regs_struct *regs,
		      struct meaning *m, uint32_t want, bool room)
{
	while (mean_more(k, t, trap, regs, m)) {
		struct record_hit *rec = NULL;

		if (!m->emit)
			continue;
		if (room)
			rec = (struct record_hit *)ring_reserve(&k->shared->ring, sizeof(*rec) + want);
		if (rec)
			emit_hit(k, t, trap, regs, m, rec, want, false);
		else
			atomic_fetch_add_explicit(&k->shared->dropped, 1, memory_order_relaxed);
	}
}

/* A thread whose hit does not count need not wait for somebody to walk its stack. */
static bool waits(const struct site *s, const struct meaning *m)
{
	return s->flags & SITE_WAIT && m->emit && (!m->outside || s->flags & SITE_ALWAYS);
}

enum note_result note_hit(struct keeper *k, struct tracee *t, uint32_t trap, const struct user_regs_struct *regs,
			  struct record_hit **rec)
{
	const struct site *s = &k->traps.all[trap].site;
	taddr ret = return_address(k, t, s, regs);
	bool ask = s->flags & SITE_RETURN && ret && trap_find(&k->traps, ret) == NO_TRAP;
	bool held = ask || (s->flags & SITE_WAIT);	/* perhaps */
	struct record_hit *room = NULL;
	struct meaning meaning;
	uint32_t want;

	*rec = NULL;
	/* asked once: the hint may change at any time, and what was made room for is what may be read */
	want = emit_stack_wanted(k, t, s, held);
	if (held || (s->flags & SITE_EMIT)) {
		/* before anything is noted: a hit that must wait for room is served again from the start */
		int r = emit_make_room(k, mean_most(k, t, trap, regs) * (sizeof(*room) + want), &room);

		if (r == -EAGAIN)
			return NOTE_NO_ROOM;
	}
	t->hits++;
	if (!t->has_hit) {
		t->has_hit = true;
		k->threads.hitting++;
		atomic_fetch_add_explicit(&k->shared->have_hit, 1, memory_order_relaxed);
	}
	threads_mark_active(&k->threads, t, k->now_ns);
	mean_hit(k, t, trap, regs, ret, &meaning);
	held = room && (ask || waits(s, &meaning) || (meaning.emit && budget_wants_hold(k, trap)));
	if (meaning.emit && !room)
		atomic_fetch_add_explicit(&k->shared->dropped, 1, memory_order_relaxed);
	if (room && (meaning.emit || held)) {
		if (held)
			hold_begin(k, t, true, !ask && !(s->flags & SITE_MODULES));
		emit_hit(k, t, trap, regs, &meaning, room, want, held);
		*rec = room;
	}
	emit_more(k, t, trap, regs, &meaning, want, room != NULL);
	return held ? NOTE_HELD : NOTE_GO;
}

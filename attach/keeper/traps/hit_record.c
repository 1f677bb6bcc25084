/* SPDX-License-Identifier: MIT */
#include "attach/keeper/traps/hit_record.h"

#include <errno.h>
#include <string.h>

#include "attach/keeper/hold.h"
#include "attach/keeper/notify.h"
#include "attach/keeper/traps/chain_read.h"
#include "attach/keeper/traps/hit_classify.h"

/* --- space in the ring --- */

/*
 * The ring is full. The thread waits a moment, so that a burst loses nothing, but never longer than
 * max_stall_ns: then hits are dropped and counted, until half of the ring is free again. true: do not wait
 * any longer, this hit is not recorded.
 */
static bool give_up_waiting(struct keeper *k)
{
	if (k->reader.drop_since_ns)
		return true;
	/* a sample may be incomplete; hits that are not recorded are still counted at their site */
	if (k->paid) {
		k->reader.drop_since_ns = k->now_ns;
		return true;
	}
	if (!k->reader.stall_since_ns) {
		k->reader.stall_since_ns = k->now_ns;
		atomic_fetch_add_explicit(&k->shared->counts.stalls, 1, memory_order_relaxed);
	}
	if (k->now_ns - k->reader.stall_since_ns < k->shared->max_stall_ns)
		return false;
	k->reader.drop_since_ns = k->now_ns;
	return true;
}

static void end_stall(struct keeper *k)
{
	if (!k->reader.stall_since_ns)
		return;
	atomic_fetch_add_explicit(&k->shared->counts.stall_ns, k->now_ns - k->reader.stall_since_ns,
				  memory_order_relaxed);
	k->reader.stall_since_ns = 0;
}

static void end_dropping(struct keeper *k)
{
	uint64_t gap = k->now_ns - k->reader.drop_since_ns;

	k->reader.drop_since_ns = 0;
	notify_record(k, RECORD_GAP, 0, 0, 0, gap);
}

/* Reserve @size bytes of the ring. 0; -EAGAIN: wait for space; -ENOSPC: the hit is dropped. */
static int make_room(struct keeper *k, uint32_t size, struct record_hit **rec)
{
	struct ring *ring = &k->shared->ring;

	*rec = NULL;
	if (k->reader.drop_since_ns && ring_used(ring) < ring->size / 2) {
		end_stall(k);
		end_dropping(k);
	}
	if (!k->reader.drop_since_ns)
		*rec = (struct record_hit *)ring_reserve(ring, size);
	if (*rec) {
		end_stall(k);
		return 0;
	}
	return give_up_waiting(k) ? -ENOSPC : -EAGAIN;
}

/* --- a record --- */

/* Has gdb unwound the stack? If the site wants the return address, the stack itself is needed. */
static bool has_frames(const struct keeper *k, const struct site *s)
{
	return k->walked.n && !(s->flags & SITE_RETURN);
}

/* Bytes of stack to reserve space for. Call it once: the controller may change the hint at any time. */
static uint32_t stack_wanted(const struct keeper *k, const struct tracee *t, const struct site *s, taddr rsp,
			     bool held)
{
	uint32_t want;

	if (!(s->flags & SITE_SLICE))
		return held ? 8 : 0;
	if (has_frames(k, s))
		return k->walked.n * sizeof(k->walked.frames[0]);
	want = shared_slice(k->shared, (uint32_t)(t - k->threads.all), (uint32_t)t->tid, rsp);
	return want > 8 ? want : 8;
}

/* The space of a record with so many bytes of stack, at most. */
static uint32_t record_room(const struct keeper *k, uint32_t want)
{
	return (uint32_t)sizeof(struct record_hit) + want + (want > 8 ? chain_room(k, want) : 0);
}

static taddr *seen_slot(struct keeper *k, taddr block)
{
	return &k->seen[(block >> 4 ^ block >> 20) % SEEN_BLOCKS];
}

/*
 * All that is to be read is how large the block is that the call frees, and that was known when it was allocated. For
 * a thread in a loop of malloc and free, reading it again is a tenth of what its stops cost. Where scopes say what is
 * counted, a block that was seen allocated may count as older all the same.
 */
static bool is_known(struct keeper *k, const struct site *s, const struct record_hit *rec)
{
	taddr *slot = seen_slot(k, rec->args[0]);
	bool frees = false;

	k->has_scopes |= s->flags & SITE_SCOPE;
	if (k->has_scopes)
		return false;
	for (unsigned i = 0; i < SITE_LOADS; i++) {
		if (s->loads[i].base != SITE_BASE_NONE && i < SITE_OLD_CHUNK)
			return false;
		frees |= s->loads[i].base == SITE_BASE_ARG1;
	}
	if (!frees || rec->head.flags & RECORD_CLOSES || !*slot || *slot != rec->args[0])
		return false;
	*slot = 0;
	return true;
}

static void remember(struct keeper *k, const struct site *asks, const uint64_t *result, const struct record_hit *rec)
{
	if (asks->loads[SITE_CHUNK].base == SITE_BASE_RESULT && rec->loads_read & 1u << SITE_CHUNK)
		*seen_slot(k, *result) = *result;
}

/* Read what the rule asks for: the rule of the call that ends, else that of the site. */
static void read_target(struct keeper *k, struct tracee *t, const struct site *s, const struct hit_class *m,
			uint32_t want, struct record_hit *rec)
{
	const struct site *asks = m->flags & RECORD_CLOSES ? &k->traps.all[m->call.trap].site : s;
	bool ends = s->flags & (SITE_EXIT | SITE_AFTER | SITE_BEHIND);
	uint64_t result = ends ? *emu_reg_slot(&rec->regs, s->result) : 0;
	static const struct site_load none[SITE_LOADS];
	const struct site_load *loads = is_known(k, asks, rec) ? none : asks->loads;

	if (remote_loads_read(keeper_memory(k, t), loads, ends ? &result : NULL, want, rec) == -EPERM)
		/* the target is not dumpable any more: if it forked, its copy could not be cleaned */
		k->leave_reason = LEFT_DENIED;
	if (ends)
		remember(k, asks, &result, rec);
}

/*
 * Fill and publish @rec, which has space for @want bytes of stack; the thread is stopped at @trap with @regs.
 */
static void emit(struct keeper *k, struct tracee *t, uint32_t trap, const struct user_regs_struct *regs,
		 const struct hit_class *m, struct record_hit *rec, uint32_t want, bool held)
{
	const struct site *s = &k->traps.all[trap].site;

	/* of a hit that does not count no stack is needed but the return address, for the emulation */
	if (m->flags & RECORD_OUTSIDE && !(s->flags & SITE_ALWAYS) && want > 8)
		want = 8;
	rec->head = (struct record){
		.kind = RECORD_HIT,
		.flags = m->flags | (held ? RECORD_HELD : 0) | (m->emit ? 0 : RECORD_SILENT) |
			 (t->guest ? RECORD_GUEST : 0),
		.tid = t->tid,
		.site = trap,
		.time_ns = k->now_ns,
		.value = held ? t->hold : 0,
	};
	rec->thread = t - k->threads.all;
	rec->chain_len = 0;
	rec->chain_end = CHAIN_NONE;
	rec->outer_site = m->flags & RECORD_CLOSES ? m->call.trap : trap;
	rec->regs = *regs;
	if (m->flags & RECORD_CLOSES)
		memcpy(rec->args, m->call.args, sizeof(rec->args));
	else
		memcpy(rec->args,
		       (uint64_t[]){ regs->rdi, regs->rsi, regs->rdx, regs->rcx, regs->r8, regs->r9 },
		       sizeof(rec->args));
	if (want > 8 && has_frames(k, s)) {
		read_target(k, t, s, m, 0, rec);
		rec->slice_len = want;
		rec->head.flags |= RECORD_FRAMES;
		memcpy(rec->slice, k->walked.frames, want);
	} else {
		read_target(k, t, s, m, want, rec);
	}
	if (want > 8)
		chain_read(k, t, rec);
	ring_commit(&k->shared->ring, &rec->head, record_hit_size(rec));
}

/* --- a hit --- */

/*
 * The return address of a call that begins, if it is needed: to plant a trap there, or to know later whether
 * the call was left.
 */
static taddr return_address(const struct keeper *k, const struct tracee *t, const struct site *s,
			    const struct user_regs_struct *regs)
{
	bool scope = s->family == SITE_FAMILY_IN && s->flags & SITE_ENTRY;
	taddr ret;

	if (!(s->flags & SITE_RETURN) && !scope)
		return 0;
	return remote_loads_word(keeper_memory(k, t), regs->rsp + s->sp_delta, &ret) ? ret : 0;
}

enum call_end {
	END_SEEN,	/* or no trap is wanted where the call returns to */
	END_ASK,	/* the controller is to plant a trap there */
	END_UNSEEN,	/* there can be none, or there is no controller to ask */
};

/* Of a call from @s that returns to @ret. */
static enum call_end end_of(const struct keeper *k, const struct site *s, taddr ret)
{
	uint32_t i;

	if (!(s->flags & SITE_RETURN) || !ret)
		return END_SEEN;
	i = trap_find(&k->traps, ret);
	if (i != NO_TRAP)
		return trap_is_refused(&k->traps.all[i]) ? END_UNSEEN : END_SEEN;
	if (!keeper_is_answered(k) || refused_returns_has(&k->shared->refused_returns, ret))
		return END_UNSEEN;
	return END_ASK;
}

void hit_record_answered(struct keeper *k, struct tracee *t, uint32_t trap,
			 const struct user_regs_struct *regs)
{
	const struct site *s = &k->traps.all[trap].site;

	if (s->flags & SITE_RETURN && end_of(k, s, return_address(k, t, s, regs)) == END_UNSEEN)
		hit_classify_unreturned(k, t, trap, regs);
}

/*
 * A hit where several calls end is an event for each of them; the first was emitted already. @room: there was
 * space for all.
 */
static void emit_more(struct keeper *k, struct tracee *t, uint32_t trap, const struct user_regs_struct *regs,
		      struct hit_class *m, uint32_t want, bool room)
{
	while (hit_classify_more(k, t, trap, regs, m)) {
		struct record_hit *rec = NULL;

		if (!m->emit)
			continue;
		if (room)
			rec = (struct record_hit *)ring_reserve(&k->shared->ring, record_room(k, want));
		if (rec)
			emit(k, t, trap, regs, m, rec, want, false);
		else
			atomic_fetch_add_explicit(&k->shared->counts.dropped, 1, memory_order_relaxed);
	}
}

/* A thread whose hit does not count need not wait to have its stack unwound. */
static bool must_be_held(const struct site *s, const struct hit_class *m)
{
	return s->flags & SITE_WAIT && m->emit && (!m->outside || s->flags & SITE_ALWAYS);
}

enum hit_record_result hit_record(struct keeper *k, struct tracee *t, uint32_t trap,
				  const struct user_regs_struct *regs, struct record_hit **rec)
{
	const struct site *s = &k->traps.all[trap].site;
	taddr ret = return_address(k, t, s, regs);
	const bool answered = keeper_is_answered(k);
	const enum call_end end = end_of(k, s, ret);
	bool ask = end == END_ASK;
	bool held = ask || (answered && s->flags & SITE_WAIT);	/* perhaps */
	struct record_hit *room = NULL;
	struct hit_class hit_class;
	uint32_t want;

	*rec = NULL;
	chain_begin(k);
	/* read once: the hint may change at any time, and no more may be read than was reserved */
	want = stack_wanted(k, t, s, regs->rsp, held);
	if (held || (s->flags & SITE_EMIT)) {
		/* before anything is recorded: a hit that must wait for space is served again from scratch */
		int r = make_room(k, hit_classify_most(k, t, trap, regs) * record_room(k, want), &room);

		if (r == -EAGAIN)
			return HIT_RECORD_NO_ROOM;
	}
	t->hits++;
	if (!t->has_hit) {
		t->has_hit = true;
		t->first_hit_ns = k->now_ns;
		k->threads.hitting++;
		atomic_fetch_add_explicit(&k->shared->counts.have_hit, 1, memory_order_relaxed);
	}
	threads_mark_active(&k->threads, t, k->now_ns);
	hit_classify(k, t, trap, regs, ret, &hit_class);
	held = room && (ask || (answered && must_be_held(s, &hit_class)) ||
			(hit_class.emit && budget_wants_hold(k, trap)));
	if (hit_class.emit && !room)
		atomic_fetch_add_explicit(&k->shared->counts.dropped, 1, memory_order_relaxed);
	if (room && (hit_class.emit || held)) {
		if (held)
			hold_begin(k, t, true, !ask && !(s->flags & SITE_MODULES));
		emit(k, t, trap, regs, &hit_class, room, want, held);
		*rec = room;
	}
	emit_more(k, t, trap, regs, &hit_class, want, room != NULL);
	/* also if there was no space in the ring to ask */
	if (end == END_UNSEEN || (ask && !held))
		hit_classify_unreturned(k, t, trap, regs);
	return held ? HIT_RECORD_HELD : HIT_RECORD_GO;
}

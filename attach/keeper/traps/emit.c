/* SPDX-License-Identifier: MIT */
#include "attach/keeper/traps/emit.h"

#include <errno.h>
#include <string.h>

#include "attach/keeper/notify.h"

/* Somebody else has walked the stack. Where its return address is wanted, the stack itself is. */
static bool has_frames(const struct keeper *k, const struct site *s)
{
	return k->nframes && !(s->flags & SITE_RETURN);
}

uint32_t emit_stack_wanted(const struct keeper *k, const struct tracee *t, const struct site *s, bool held)
{
	uint32_t most = k->shared->slice_bytes, want;
	uint64_t hint;

	if (!(s->flags & SITE_SLICE))
		return held ? 8 : 0;
	if (has_frames(k, s))
		return k->nframes * sizeof(k->frames[0]);
	hint = atomic_load_explicit(&k->shared->slice_hint[t - k->threads.all], memory_order_relaxed);
	want = hint >> 32 == (uint32_t)t->tid ? (uint32_t)hint : most;
	if (want > most)
		want = most;
	return want > 8 ? want : 8;
}

/* What the rule of the call that ends, or of the site, reads. */
static void read_target(struct keeper *k, struct tracee *t, const struct site *s, const struct meaning *m, uint32_t want,
			struct record_hit *rec)
{
	const struct site *asks = m->flags & RECORD_CLOSES ? &k->traps.all[m->call.trap].site : s;
	bool ends = s->flags & (SITE_EXIT | SITE_AFTER | SITE_BEHIND);
	uint64_t result = ends ? *emu_reg_slot(&rec->regs, s->result) : 0;

	if (loads_read(keeper_memory(k, t), asks->loads, ends ? &result : NULL, want, rec) == -EPERM)
		k->leave_reason = LEFT_DENIED; /* it is not dumpable any more: soon not even a copy could be cleaned */
}

void emit_hit(struct keeper *k, struct tracee *t, uint32_t trap, const struct user_regs_struct *regs,
	      const struct meaning *m, struct record_hit *rec, uint32_t want, bool held)
{
	const struct site *s = &k->traps.all[trap].site;

	/* of a hit that does not count nobody asks who called; the return address serves the emulation too */
	if (m->flags & RECORD_OUTSIDE && !(s->flags & SITE_ALWAYS) && want > 8)
		want = 8;
	rec->head = (struct record){
		.kind = RECORD_HIT,
		.flags = m->flags | (held ? RECORD_HELD : 0) | (m->emit ? 0 : RECORD_SILENT) | (t->guest ? RECORD_GUEST : 0),
		.tid = t->tid, .site = trap, .time_ns = k->now_ns, .value = held ? t->hold : 0,
	};
	rec->thread = t - k->threads.all;
	rec->outer_site = m->flags & RECORD_CLOSES ? m->call.trap : trap;
	rec->regs = *regs;
	if (m->flags & RECORD_CLOSES)
		memcpy(rec->args, m->call.args, sizeof(rec->args));
	else
		memcpy(rec->args, (uint64_t[]){ regs->rdi, regs->rsi, regs->rdx, regs->rcx, regs->r8, regs->r9 },
		       sizeof(rec->args));
	if (want > 8 && has_frames(k, s)) {
		read_target(k, t, s, m, 0, rec);
		rec->slice_len = want;
		rec->head.flags |= RECORD_FRAMES;
		memcpy(rec->slice, k->frames, want);
	} else {
		read_target(k, t, s, m, want, rec);
	}
	ring_commit(&k->shared->ring, &rec->head, sizeof(*rec) + rec->slice_len);
}

/*
 * The ring is full. The thread waits a moment, so that a burst loses nothing;
 * but never longer than max_stall: then hits are dropped and counted, until
 * half of the ring is free again. true: go on without a record.
 */
static bool give_up_waiting(struct keeper *k)
{
	if (k->drop_since_ns)
		return true;
	/* a sample may be incomplete; what was not recorded has been counted at its site all the same */
	if (k->paid) {
		k->drop_since_ns = k->now_ns;
		return true;
	}
	if (!k->stall_since_ns) {
		k->stall_since_ns = k->now_ns;
		atomic_fetch_add_explicit(&k->shared->stalls, 1, memory_order_relaxed);
	}
	if (k->now_ns - k->stall_since_ns < k->shared->max_stall_ns)
		return false;
	k->drop_since_ns = k->now_ns;
	return true;
}

static void end_stall(struct keeper *k)
{
	if (!k->stall_since_ns)
		return;
	atomic_fetch_add_explicit(&k->shared->stall_ns, k->now_ns - k->stall_since_ns, memory_order_relaxed);
	k->stall_since_ns = 0;
}

static void end_dropping(struct keeper *k)
{
	uint64_t gap = k->now_ns - k->drop_since_ns;

	k->drop_since_ns = 0;
	notify_record(k, RECORD_GAP, 0, 0, 0, gap);
}

int emit_make_room(struct keeper *k, uint32_t size, struct record_hit **rec)
{
	struct ring *ring = &k->shared->ring;

	*rec = NULL;
	if (k->drop_since_ns && ring_used(ring) < ring->size / 2) {
		end_stall(k);
		end_dropping(k);
	}
	if (!k->drop_since_ns)
		*rec = (struct record_hit *)ring_reserve(ring, size);
	if (*rec) {
		end_stall(k);
		return 0;
	}
	return give_up_waiting(k) ? -ENOSPC : -EAGAIN;
}

/* SPDX-License-Identifier: MIT */
#include "attach/keeper/traps/hit.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "attach/keeper/hold.h"
#include "attach/keeper/newproc.h"
#include "attach/keeper/notify.h"
#include "attach/keeper/traps/hit_record.h"
#include "attach/keeper/traps/step.h"
#include "attach/keeper/wait_stops.h"

#define SI_INT3 0x80	/* SI_KERNEL: what int3 raises; signals sent by a process have 0 or less */

/* --- memory of the thread, for the displaced instruction --- */

struct memory {
	pid_t tid;
	const uint8_t *slice;	/* stack that was read already, from sp on */
	uint32_t slice_len;
	taddr sp;
};

static int memory_read(void *ctx, taddr addr, void *buf, size_t n)
{
	const struct memory *m = ctx;
	struct iovec here = { buf, n }, there = { (void *)(uintptr_t)addr, n };

	if (m->slice && addr >= m->sp && n <= m->slice_len && addr - m->sp <= m->slice_len - n) {
		memcpy(buf, m->slice + (addr - m->sp), n);
		return 0;
	}
	return process_vm_readv(m->tid, &here, 1, &there, 1, 0) == (ssize_t)n ? 0 : -EFAULT;
}

/* Not through /proc/PID/mem, which would also write to read-only pages and guard pages. */
static int memory_write(void *ctx, taddr addr, const void *buf, size_t n)
{
	const struct memory *m = ctx;
	struct iovec here = { (void *)(uintptr_t)buf, n }, there = { (void *)(uintptr_t)addr, n };

	return process_vm_writev(m->tid, &here, 1, &there, 1, 0) == (ssize_t)n ? 0 : -EFAULT;
}

/* --- going on --- */

static void resume(struct keeper *k, struct tracee *t)
{
	int r;

	tracee_mend_mask(t, false);
	r = tracee_cont(t, 0);
	if (r < 0 && r != -ESRCH)
		notify_record(k, RECORD_TROUBLE, 0, t->tid, TROUBLE_RESUME, -r);
	/* reported as a group stop (or, if it runs into a trap first, the next time); ESRCH: killed */
	if (r == 0 && t->stop_again)
		(void)!tracee_interrupt(t);
}

/* @before: the thread's registers (rip behind the int3); @regs: rip at the trap. */
static void go_past(struct keeper *k, struct tracee *t, uint32_t trap, struct user_regs_struct *before,
		    struct user_regs_struct *regs, struct memory *m)
{
	const struct site *s = &k->traps.all[trap].site;
	const struct emu_mem mem = { memory_read, memory_write, m };
	int r = -ENOSYS;

	if (s->emu.op != EMU_NONE)
		r = emulate(&s->emu, s->addr, regs, &mem);
	if (r < 0) {
		step_begin(k, t, trap, before, regs,
			   r == -ENOSYS && s->scratch && trap_prepare_step(&k->traps, k->mem, trap));
		return;
	}
	if (tracee_set_regs(t, before, regs) < 0) {
		t->state = TRACEE_RUNNING; /* killed: its end follows */
		return;
	}
	t->status = STATUS_SETTLED; /* if we crash right here: there is no SIGTRAP to deliver any more */
	resume(k, t);
}

/* --- one hit --- */

static bool is_int3(struct tracee *t)
{
	int code = 0;

	return tracee_signal_code(t, &code) == 0 && code == SI_INT3;
}

/*
 * Was there a trap at @addr that is forgotten by now? For a copy, whose memory is its own, it is only checked
 * whether there ever was one.
 */
static bool is_gone_from(const struct keeper *k, const struct tracee *t, taddr addr)
{
	return t->unclean ? trap_was_ever_at(&k->traps, addr) : trap_was_at(&k->traps, k->mem, addr);
}

/* Did the thread run into a trap at @addr before that was forgotten? */
static bool ran_into_gone(struct keeper *k, struct tracee *t, taddr addr)
{
	return is_int3(t) && is_gone_from(k, t, addr);
}

/* Resume @t with @regs: the real instruction is there again, or it was carried out. */
static enum hit_result continue_with(struct keeper *k, struct tracee *t, struct user_regs_struct *before,
				     struct user_regs_struct *regs)
{
	if (tracee_set_regs(t, before, regs) == 0)
		resume(k, t);
	else
		t->state = TRACEE_RUNNING;
	return HIT_DONE;
}

static enum hit_result serve_trap(struct keeper *k, struct tracee *t, uint32_t trap,
				  struct user_regs_struct *before, struct user_regs_struct *regs)
{
	struct memory m = { .tid = t->tid, .sp = regs->rsp };
	/* both of these before anything else */
	bool was_lifted = k->traps.all[trap].state == TRAP_LIFTED, lifted = budget_hit(k, t, trap);
	struct record_hit *rec;
	enum hit_record_result r;

	/* the thread ran into the trap before it was lifted */
	if (was_lifted) {
		if (trap_lift_found(&k->traps, k->mem, trap) < 0)
			notify_record(k, RECORD_TROUBLE, 0, t->tid, TROUBLE_LIFT, EIO);
		return continue_with(k, t, before, regs);
	}
	r = hit_record(k, t, trap, regs, &rec);
	if (r == HIT_RECORD_NO_ROOM)
		return HIT_NO_ROOM;
	if (rec) {
		m.slice = rec->slice;
		m.slice_len = rec->slice_len;
	}
	if (r == HIT_RECORD_GO && lifted)
		(void)continue_with(k, t, before, regs);
	else if (r == HIT_RECORD_GO)
		go_past(k, t, trap, before, regs, &m);
	if (r == HIT_RECORD_HELD)
		notify_for_held(k);
	return HIT_DONE;
}

/*
 * A copy that could not be cleaned has run into an int3. If it can be cleaned by now, it is let go. Otherwise
 * it resumes if its instruction can be emulated, which changes no code; if not, it waits: its memory has
 * neither the real instruction nor anything that was put into padding. Nothing is recorded: its blocks are
 * not the target's.
 */
static enum hit_result serve_copy(struct keeper *k, struct tracee *t, struct user_regs_struct *before)
{
	struct user_regs_struct regs = *before;
	struct memory m = { .tid = t->tid };
	const struct emu_mem mem = { memory_read, memory_write, &m };
	const struct site *s;

	if (!is_int3(t))
		return HIT_NOT_OURS;
	switch (newproc_clean_at_trap(k, t, before)) {
	case COPY_LET_GO:
		return HIT_DONE;
	case COPY_OWN_INT3:
		return HIT_NOT_OURS;
	default:
		break;
	}
	if (!trap_was_ever_at(&k->traps, before->rip - 1))
		return HIT_NOT_OURS;
	/* the module may be unloaded by now, and the target may have another module's code there */
	s = trap_only_code_at(&k->traps, before->rip - 1);
	if (s && s->emu.op != EMU_NONE && emulate(&s->emu, s->addr, &regs, &mem) == 0)
		return continue_with(k, t, before, &regs);
	wait_stops_later(k, t, t->clean_next_ns);
	return HIT_DONE;
}

enum hit_result hit_serve(struct keeper *k, struct tracee *t)
{
	struct user_regs_struct before, regs;
	uint32_t trap;
	int code = 0;

	if (tracee_regs(t, &before) < 0) {
		t->state = TRACEE_RUNNING; /* killed while it was stopped: its end follows */
		return HIT_DONE;
	}
	if (step_is_done(t)) {
		(void)budget_hit(k, t, t->stepping);
		step_end(k, t, &before);
		if (t->state == TRACEE_STOPPED)
			resume(k, t);
		return HIT_DONE;
	}
	if (t->stepping != NO_TRAP) {
		step_end(k, t, &before);
		if (t->state != TRACEE_STOPPED)
			return HIT_DONE;
	}
	if (t->unclean)
		return serve_copy(k, t, &before);
	regs = before;
	regs.rip--;
	trap = trap_find(&k->traps, regs.rip);
	if (trap == NO_TRAP && ran_into_gone(k, t, regs.rip))
		return continue_with(k, t, &before, &regs);
	if (trap == NO_TRAP || k->traps.all[trap].state == TRAP_REFUSED)
		return HIT_NOT_OURS;
	if (k->traps.all[trap].site.flags & SITE_SIGINFO) {
		if (tracee_signal_code(t, &code) < 0) {
			t->state = TRACEE_RUNNING;
			return HIT_DONE;
		}
		if (code != SI_INT3)
			return HIT_NOT_OURS;
	}
	return serve_trap(k, t, trap, &before, &regs);
}

void hit_release(struct keeper *k, struct tracee *t)
{
	struct user_regs_struct before, regs;
	struct memory m = { .tid = t->tid };
	uint32_t trap;

	hold_end(k, t);
	t->state = TRACEE_STOPPED;
	if (!t->hit_pending) {
		resume(k, t);
		return;
	}
	t->hit_pending = false;
	if (tracee_regs(t, &before) < 0) {
		t->state = TRACEE_RUNNING;
		return;
	}
	regs = before;
	regs.rip--;
	trap = trap_find(&k->traps, regs.rip);
	if (trap == NO_TRAP) {
		/*
		 * nothing to emulate: the real instruction is there again; or the module was unmapped under
		 * the thread, and there is nothing to return to
		 */
		(void)continue_with(k, t, &before, &regs);
		return;
	}
	hit_record_answered(k, t, trap, &regs);
	go_past(k, t, trap, &before, &regs, &m);
}

bool hit_step_back(struct keeper *k, struct tracee *t, struct user_regs_struct *regs)
{
	uint32_t trap = trap_find(&k->traps, regs->rip - 1);

	if ((trap == NO_TRAP || t->unclean) ? !ran_into_gone(k, t, regs->rip - 1)
					    : k->traps.all[trap].state == TRAP_REFUSED || !is_int3(t))
		return false;
	regs->rip--;
	return true;
}

bool hit_on_the_way(struct keeper *k, struct tracee *t)
{
	struct user_regs_struct regs;
	int code = 0;

	return tracee_pending(t, SIGTRAP, &code) && code == SI_INT3 && tracee_regs(t, &regs) == 0 &&
	       (trap_find(&k->traps, regs.rip - 1) != NO_TRAP || is_gone_from(k, t, regs.rip - 1));
}

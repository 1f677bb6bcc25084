/* SPDX-License-Identifier: MIT */
#include "attach/keeper/newproc.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/keeper/copies/copies.h"
#include "attach/keeper/hold.h"
#include "attach/keeper/notify.h"
#include "attach/keeper/procfs.h"
#include "attach/keeper/traps/step.h"
#include "attach/keeper/wait_stops.h"

#define INT3 0xcc
#define NOWHERE 0
#define LATE_NS 200000		/* the stop of the thread that has forked it follows within that */
#define LATE_MOST 5
#define AGAIN_NS 10000000	/* a copy that could not be cleaned is at a trap: try again this often */

static bool same_memory(pid_t a, pid_t b)
{
	return syscall(SYS_kcmp, a, b, KCMP_VM, 0, 0) == 0;
}

bool newproc_can_compare(void)
{
	pid_t self = getpid();

	return same_memory(self, self);
}

static bool is_thread_of(pid_t pid, pid_t tid)
{
	return syscall(SYS_tgkill, pid, tid, 0) == 0;
}

bool newproc_shares_memory(struct keeper *k, pid_t tid)
{
	int asked = 0;

	/* any living thread will do; a dying one has no memory any more, so try a few */
	for (struct tracee *w = threads_first(&k->threads); w &&
	     asked < 4; w = threads_next(&k->threads, w)) {
		if (w->guest || !w->known || w->tid == tid)
			continue;
		if (same_memory(w->tid, tid))
			return true;
		asked++;
	}
	return false;
}

static void let_go(struct keeper *k, struct tracee *t)
{
	int r = tracee_detach(t, 0);

	if (r < 0 && r != -ESRCH)
		notify_record(k, RECORD_TROUBLE, 0, t->tid, TROUBLE_RESUME, -r);
	calls_drop(&k->calls, &t->calls);
	threads_remove(&k->threads, t);
}

/*
 * Take our traps out of a forked copy. -ESRCH: it was killed; -EEXIST: it is clean, but there is an int3 at
 * @addr that is not ours.
 */
static int clean(struct keeper *k, pid_t pid, taddr addr, bool stray)
{
	int mem = procfs_open_mem(pid), r;
	uint8_t now;

	if (mem < 0)
		return mem == -ENOENT ? -ESRCH : mem;
	r = stray ? copies_clean(k, mem) : trap_clean_copy(&k->traps, mem);
	if (r == 0 && addr != NOWHERE && (pread(mem, &now, 1, (off_t)addr) != 1 || now == INT3))
		r = -EEXIST;
	close(mem);
	return r;
}

static void let_copy_go(struct keeper *k, struct tracee *t)
{
	notify_record(k, RECORD_CHILD, 0, t->tid, 0, t->tid);
	k->others--;
	let_go(k, t);
}

/*
 * Where several processes are watched, a newborn belongs to one of them. false: it does not belong to @k, or
 * has to wait until it is known which thread has forked it.
 */
static bool is_at_home(struct keeper *k, struct tracee *t)
{
	struct keeper *home = k;
	struct tracee *forker;

	if (keeper_first(k)->ncopies && !t->expected) {
		home = copies_home(k, t->tid);
		t->stray = !home;
	}
	if (home && home != k) {
		copies_move(home, k, t);
		return false;
	}
	if (!k->shared->slots || k->leaving || t->late == LATE_MOST ||
	    copies_forker(k, t, &forker) != -EAGAIN)
		return true;
	t->late++;
	wait_stops_later(k, t, k->now_ns + LATE_NS);
	return false;
}

bool newproc_first_stop(struct keeper *k, struct tracee *t)
{
	int r;

	if (is_thread_of(k->target, t->tid)) {
		calls_drop(&k->calls, &t->calls);
		t->known = true;
		notify_record(k, RECORD_THREAD, 0, t->tid, 0, 0);
		return true;
	}
	if (!is_at_home(k, t))
		return false;
	/* a copy is unclean until it is taken or cleaned: if we crash meanwhile, it is cleaned as we leave */
	t->unclean = !newproc_shares_memory(k, t->tid);
	t->known = true;
	t->guest = true;
	k->others++;
	if (!t->unclean) {
		calls_drop(&k->calls, &t->calls);
		return true;
	}
	if (!t->stray && copies_take(k, t))
		return false;
	r = clean(k, t->tid, NOWHERE, t->stray);
	if (r < 0 && r != -ESRCH) {
		/* it must not be let go */
		notify_record(k, RECORD_TROUBLE, 0, t->tid, TROUBLE_CLEAN, -r);
		/* we are leaving, and it is let go as it is */
		if (k->leaving)
			atomic_fetch_add(&k->shared->end.uncleaned, 1);
		return true;
	}
	t->unclean = false;
	let_copy_go(k, t);
	return false;
}

enum copy_state newproc_clean_at_trap(struct keeper *k, struct tracee *t,
				      const struct user_regs_struct *before)
{
	struct user_regs_struct regs = *before;
	int r;

	if (k->now_ns < t->clean_next_ns)
		return COPY_UNCLEAN;
	t->clean_next_ns = k->now_ns + AGAIN_NS;
	regs.rip--;
	r = clean(k, t->tid, regs.rip, t->stray);
	if (r == -EEXIST)
		return COPY_OWN_INT3;
	if (r < 0 || tracee_set_regs(t, before, &regs) < 0)
		return COPY_UNCLEAN;
	t->unclean = false;
	tracee_mend_mask(t, true);
	let_copy_go(k, t);
	return COPY_LET_GO;
}

uint32_t newproc_clean_rest(struct keeper *k)
{
	uint32_t n = 0;

	for (struct tracee *t = threads_first(&k->threads); t; t = threads_next(&k->threads, t)) {
		int r = t->unclean ? clean(k, t->tid, NOWHERE, t->stray) : 0;

		n += r < 0 && r != -ESRCH;
	}
	return n;
}

struct tracee *newproc_find(struct keeper *k, pid_t newborn)
{
	struct tracee *n = threads_find(&k->threads, newborn);
	uint32_t i = 0;

	for (struct keeper *s = keeper_first(k); s && !n; s = keeper_next(s, &i))
		n = threads_find(&s->threads, newborn);
	return n;
}

void newproc_expect(struct keeper *k, struct tracee *t)
{
	unsigned long newborn;
	struct tracee *n;

	if (tracee_event_msg(t, &newborn) < 0 || newproc_find(k, newborn))
		return;
	if (!wait_stops_ask(k, newborn) && tracee_is_ours(newborn) && !threads_add(&k->threads, newborn))
		k->leave_reason = LEFT_THREADS;
	n = threads_find(&k->threads, newborn);
	if (!n)
		return;
	n->expected = true;
	n->forker = (uint16_t)(t - k->threads.all + 1);
	/* as they are now: when the copy stops, the thread may have left them */
	if (k->shared->slots && n->calls == NO_CALL)
		calls_copy(&k->calls, &n->calls, &k->calls, t->calls);
}

static int adopt(void *ctx, pid_t child)
{
	struct keeper *k = ctx;

	if (!threads_find(&k->threads, child) && tracee_is_ours(child) && !threads_add(&k->threads, child))
		k->leave_reason = LEFT_THREADS;
	return 0;
}

/*
 * The other threads are dead; the one that exec'ed has the leader's number now. Newborns may belong to any
 * process.
 */
static void forget_old_threads(struct keeper *k, struct tracee *t)
{
	for (struct tracee *o = threads_first(&k->threads); o; o = threads_next(&k->threads, o)) {
		if (o == t || o->guest || !o->known)
			continue;
		if (o->state == TRACEE_HELD)
			hold_end(k, o);
		calls_drop(&k->calls, &o->calls);
		threads_remove(&k->threads, o);
	}
	calls_drop(&k->calls, &t->calls);
	t->stepping = NO_TRAP;
	t->redo = NO_TRAP;
	t->in_place = false;
	t->in_vfork = false;
	t->interrupted = false;
}

/*
 * A guest has exec'ed. If the thread that did it was not the guest's first one, it has the first one's number
 * now, and the end of its old number is never reported: forget that.
 */
static void forget_former(struct keeper *k, const struct tracee *t)
{
	unsigned long former;
	struct tracee *o = tracee_event_msg(t, &former) == 0 ? threads_find(&k->threads, former) : NULL;

	if (!o || o == t || !o->guest)
		return;
	step_end_in_place(k, o);
	if (o->state == TRACEE_HELD)
		hold_end(k, o);
	calls_drop(&k->calls, &o->calls);
	threads_remove(&k->threads, o);
	k->others--;
}

/*
 * A copy that is not watched yet: it is another program, which the next look finds. Most do it at once, so
 * nothing is done that is not needed: mostly, nothing lives in the memory that it has left.
 */
static void copy_execs(struct keeper *k, struct tracee *t)
{
	if (k->threads.used > 1) {
		(void)procfs_each_child(k->target, k->target, adopt, k);
		atomic_fetch_add(&k->shared->end.unlifted, trap_lift_all(&k->traps, k->mem));
		trap_restore_scratch(&k->traps, k->mem);
	}
	trap_forget_all(&k->traps);
	forget_old_threads(k, t);
	let_go(k, t);
}

void newproc_exec(struct keeper *k, struct tracee *t)
{
	if (t->guest) {
		forget_former(k, t);
		/*
		 * its first thread may have been in the middle of a step when another one exec'ed: plant the
		 * trap again in the memory that they have left
		 */
		step_end_in_place(k, t);
		/* its memory is its own now, and has no traps */
		k->others--;
		let_go(k, t);
		return;
	}
	if (!keeper_is_answered(k)) {
		copy_execs(k, t);
		return;
	}
	/*
	 * copies of the old memory that have not stopped yet, and whose parents died before their event was
	 * reported
	 */
	(void)procfs_each_child(k->target, k->target, adopt, k);
	/* guests may still run in the old memory, which k->mem still names */
	atomic_fetch_add(&k->shared->end.unlifted, trap_lift_all(&k->traps, k->mem));
	trap_restore_scratch(&k->traps, k->mem);
	budget_forget(k, 0, k->traps.bound);
	trap_forget_all(&k->traps);
	close(k->mem);
	k->mem = procfs_open_mem(k->target);
	if (k->traps.maps > 0)
		close(k->traps.maps);
	k->traps.maps = procfs_open_maps(k->target);
	forget_old_threads(k, t);
	hold_begin(k, t, false, false);
	notify_record(k, RECORD_EXEC, RECORD_HELD, t->tid, 0, t->hold);
	notify_bell(k);
}

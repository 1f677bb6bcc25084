/* SPDX-License-Identifier: MIT */
#include "attach/keeper/tracee.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "attach/keeper/procfs.h"

#define RESTARTS 16		/* of one call with a timeout; then it fails with EINTR */
#define REFUSED_NS 1000000
#define UNDO_NS 60000000000ull	/* a call whose timeout is not known is started again for so long */
#define OPTIONS (PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | \
		 PTRACE_O_TRACEVFORKDONE | PTRACE_O_TRACEEXEC)

static int request(int req, pid_t tid, uintptr_t addr, uintptr_t data)
{
	return ptrace(req, tid, (void *)addr, (void *)data) < 0 ? -errno : 0;
}

int tracee_seize(pid_t tid)
{
	return request(PTRACE_SEIZE, tid, 0, OPTIONS);
}

int tracee_seize_to_end(pid_t tid)
{
	return request(PTRACE_SEIZE, tid, 0, OPTIONS | PTRACE_O_TRACEEXIT);
}

bool tracee_let_end(pid_t tid, int status)
{
	if (!WIFSTOPPED(status) || status >> 16 != PTRACE_EVENT_EXIT)
		return false;
	/* ESRCH: it was killed as well */
	(void)!request(PTRACE_CONT, tid, 0, 0);
	return true;
}

bool tracee_is_ours(pid_t tid)
{
	siginfo_t si;

	/* ECHILD if it is not; WNOWAIT: a status remains, to be waited for */
	return waitid(P_PID, tid, &si, WNOHANG | WNOWAIT | WEXITED | WSTOPPED | __WALL) == 0;
}

static int restart(struct tracee *t, int req, int sig, enum tracee_state state)
{
	int r = request(req, t->tid, 0, sig);

	if (r == 0 || r == -ESRCH)
		t->state = state;
	return r;
}

int tracee_cont(struct tracee *t, int sig)
{
	return restart(t, PTRACE_CONT, sig, TRACEE_RUNNING);
}

int tracee_listen(struct tracee *t)
{
	return restart(t, PTRACE_LISTEN, 0, TRACEE_LISTENING);
}

int tracee_step(struct tracee *t, int sig)
{
	return restart(t, PTRACE_SINGLESTEP, sig, TRACEE_RUNNING);
}

int tracee_detach(struct tracee *t, int sig)
{
	return request(PTRACE_DETACH, t->tid, 0, sig);
}

int tracee_interrupt(struct tracee *t)
{
	int r = request(PTRACE_INTERRUPT, t->tid, 0, 0);

	if (r == 0)
		t->interrupted = true;
	return r;
}

bool tracee_spare(struct tracee *t, pid_t pid, bool late)
{
	bool runs = t->state == TRACEE_RUNNING && procfs_activity(pid, t->tid) == ACTIVITY_BUSY;

	t->spared = runs && !late;
	if (runs && late)
		(void)!tracee_interrupt(t); /* ESRCH: it has ended meanwhile */
	return t->spared;
}

int tracee_regs(const struct tracee *t, struct user_regs_struct *regs)
{
	return request(PTRACE_GETREGS, t->tid, 0, (uintptr_t)regs);
}

int tracee_set_regs(const struct tracee *t, const struct user_regs_struct *before,
		    const struct user_regs_struct *after)
{
	const unsigned long long *b = (const void *)before, *a = (const void *)after;
	size_t changed[4], n = 0;

	/* two POKEUSERs cost 632 ns, SETREGS 878, a third poke is no gain */
	for (size_t i = 0; i < sizeof(*after) / sizeof(*a); i++) {
		if (a[i] == b[i])
			continue;
		if (n == 2)
			return request(PTRACE_SETREGS, t->tid, 0, (uintptr_t)after);
		changed[n++] = i;
	}
	for (size_t i = 0; i < n; i++) {
		int r = request(PTRACE_POKEUSER, t->tid, changed[i] * sizeof(*a), a[changed[i]]);

		if (r < 0)
			return r;
	}
	return 0;
}

int tracee_vectors(const struct tracee *t, void *out, size_t n)
{
	struct iovec iov = { out, n };
	int r = request(PTRACE_GETREGSET, t->tid, NT_X86_XSTATE, (uintptr_t)&iov);

	return r < 0 ? r : (int)iov.iov_len;
}

int tracee_event_msg(const struct tracee *t, unsigned long *msg)
{
	return request(PTRACE_GETEVENTMSG, t->tid, 0, (uintptr_t)msg);
}

int tracee_signal_code(const struct tracee *t, int *code)
{
	siginfo_t si;
	int r = request(PTRACE_GETSIGINFO, t->tid, 0, (uintptr_t)&si);

	if (r == 0)
		*code = si.si_code;
	return r;
}

/* The first queued signal of the set @wanted, or 0. */
static int queued(const struct tracee *t, uint64_t wanted, uint32_t flags, int *code)
{
	siginfo_t si[8];
	struct __ptrace_peeksiginfo_args args = { .flags = flags, .nr = 8 };

	for (;;) {
		long n = ptrace(PTRACE_PEEKSIGINFO, t->tid, &args, si);

		for (long i = 0; i < n; i++) {
			if (!(wanted >> (si[i].si_signo - 1) & 1))
				continue;
			if (code)
				*code = si[i].si_code;
			return si[i].si_signo;
		}
		if (n < 8)
			return 0;
		args.off += n;
	}
}

bool tracee_pending(const struct tracee *t, int sig, int *code)
{
	uint64_t set = sig ? 1ull << (sig - 1) : ~0ull;

	return queued(t, set, 0, code) || queued(t, set, PTRACE_PEEKSIGINFO_SHARED, code);
}

/*
 * int3 in a thread that blocks SIGTRAP: the kernel (force_sig) takes SIGTRAP out of its mask for good. Worker
 * threads that block everything (sigfillset) are common in daemons, and their mask must be the same when we
 * are gone. The mask before the trap cannot be had; "all the other faults are blocked, only SIGTRAP is not"
 * is a filled mask that we have changed, since no program blocks SIGSEGV, SIGILL and SIGFPE one by one.
 */
#define TRAP_BIT (1ull << (SIGTRAP - 1))
#define FAULT_BITS                                                                                           \
	(1ull << (SIGSEGV - 1) | 1ull << (SIGILL - 1) | 1ull << (SIGFPE - 1) | 1ull << (SIGBUS - 1))

void tracee_note_mask(struct tracee *t, uint64_t blocked)
{
	t->first_mask = blocked;
	if (blocked & TRAP_BIT)
		t->mask = MASK_BLOCKS;
	else if ((blocked & FAULT_BITS) == FAULT_BITS)
		t->mask = MASK_OPEN;
}

void tracee_mend_mask(struct tracee *t, bool now)
{
	uint64_t mask;

	if (t->mask == MASK_OPEN || (t->mask == MASK_UNKNOWN && !now && t->hits % 64 != 1))
		return;
	if (request(PTRACE_GETSIGMASK, t->tid, sizeof(mask), (uintptr_t)&mask) < 0)
		return; /* gone: wait reports its end */
	/* blocked only for a moment, as inside pthread_create, or changed since */
	if (t->mask == MASK_BLOCKS && (mask | TRAP_BIT) != t->first_mask)
		t->mask = MASK_UNKNOWN;
	if (t->mask != MASK_BLOCKS)
		t->mask = (mask & FAULT_BITS) == FAULT_BITS ? MASK_FILLED : MASK_UNKNOWN;
	if (t->mask == MASK_UNKNOWN || (mask & TRAP_BIT))
		return;
	mask |= TRAP_BIT;
	/* gone, too */
	(void)request(PTRACE_SETSIGMASK, t->tid, sizeof(mask), (uintptr_t)&mask);
}

/*
 * Calls that have done nothing when they fail with EINTR. Not close, which has closed the file; and not calls
 * that a file system's server may have carried out.
 */
static bool only_waits(long long nr)
{
	switch (nr) {
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
	case SYS_poll:
	case SYS_ppoll:
	case SYS_select:
	case SYS_pselect6:
	case SYS_semop:
	case SYS_semtimedop:
	case SYS_rt_sigtimedwait:
	case SYS_rt_sigsuspend:
	case SYS_pause:
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_futex:
	case SYS_futex_waitv:
	case SYS_read:
	case SYS_readv:
	case SYS_write:
	case SYS_writev:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_accept:
	case SYS_accept4:
	case SYS_connect:
	case SYS_msgrcv:
	case SYS_msgsnd:
	case SYS_mq_timedreceive:
	case SYS_mq_timedsend:
	case SYS_io_getevents:
	case SYS_io_pgetevents:
	case SYS_io_uring_enter:
	case SYS_wait4:
	case SYS_waitid:
	case SYS_flock:
	case SYS_fcntl:
		return true;
	default:
		return false;
	}
}

/*
 * Does the call wait without a timeout? false also if that is not known, as where a socket's own timeout
 * counts.
 */
static bool without_end(const struct user_regs_struct *r)
{
	switch (r->orig_rax) {
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
		return (int)r->r10 < 0;
	case SYS_poll:
		return (int)r->rdx < 0;
	case SYS_ppoll:
	case SYS_rt_sigtimedwait:
		return r->rdx == 0;
	case SYS_select:
	case SYS_pselect6:
		return r->r8 == 0;
	case SYS_epoll_pwait2:
	case SYS_semtimedop:
	case SYS_futex:
		return r->r10 == 0;
	default:
		return false;
	}
}

bool tracee_may_restart(struct tracee *t, const struct user_regs_struct *r, uint64_t now_ns)
{
	if (without_end(r))
		return true;
	if (now_ns - t->refused_ns < REFUSED_NS)
		return false; /* another signal at the same moment: the thread has not run since */
	if (t->restart.rip != r->rip || t->restart.sp != r->rsp)
		t->restart.n = 0;
	t->restart.rip = r->rip;
	t->restart.sp = r->rsp;
	if (++t->restart.n < RESTARTS)
		return true;
	t->restart.n = 0;
	t->refused_ns = now_ns;
	return false;
}

/*
 * Has the call failed with EINTR, having done nothing, because of us? Not if a signal is about to be
 * delivered: then EINTR is what it would return without us.
 */
static bool is_our_eintr(const struct tracee *t, const struct user_regs_struct *regs)
{
	struct procfs_signals s;
	uint64_t real;

	if ((long long)regs->rax != -EINTR || !only_waits(regs->orig_rax))
		return false;
	/* mostly no signal is pending at all, and /proc need not be read */
	if (!tracee_pending(t, 0, NULL))
		return true;
	if (procfs_signals(t->tid, &s) < 0)
		return false;
	real = ~s.blocked & ~s.ignored;
	return !queued(t, real, 0, NULL) && !queued(t, real, PTRACE_PEEKSIGINFO_SHARED, NULL);
}

static void start_again(struct user_regs_struct *regs)
{
	regs->rax = regs->orig_rax;
	regs->rip -= 2; /* syscall is two bytes */
}

void tracee_restart_call(const struct tracee *t, struct user_regs_struct *regs)
{
	if (is_our_eintr(t, regs))
		start_again(regs);
}

static uint64_t span_at(const struct tracee *t, taddr at)
{
	struct timespec ts;
	struct iovec here = { &ts, sizeof(ts) }, there = { (void *)(uintptr_t)at, sizeof(ts) };

	/* the thread itself gave this address to the kernel a moment ago: it is there */
	if (!at || process_vm_readv(t->tid, &here, 1, &there, 1, 0) != sizeof(ts) || ts.tv_sec < 0 ||
	    ts.tv_sec > 1000000000)
		return UINT64_MAX;
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/*
 * For calls that fail with EINTR after any wake-up (others the kernel restarts itself, with the rest of their
 * timeout): the call's timeout, and what it returns then. UINT64_MAX: there is none, or it is not known (a
 * socket's).
 */
static uint64_t time_limit(const struct tracee *t, const struct user_regs_struct *r, long long *result)
{
	*result = 0;
	switch (r->orig_rax) {
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
		return (int)r->r10 < 0 ? UINT64_MAX : (int)r->r10 * 1000000ull;
	case SYS_epoll_pwait2:
		return span_at(t, r->r10);
	case SYS_semtimedop:
		*result = -EAGAIN;
		return span_at(t, r->r10);
	case SYS_rt_sigtimedwait:
		*result = -EAGAIN;
		return span_at(t, r->rdx);
	default:
		return UINT64_MAX;
	}
}

/*
 * From one interruption of a call to the next a thread goes to sleep twice: in the call, and in the stop. An
 * event loop makes the same call from the same address all the time, and sleeps more often between
 * interruptions: that distinguishes it from one long call. The count is not read at the first interruption:
 * mostly there is no second.
 */
#define SLEEPS_BETWEEN 2

static void note_undone(struct tracee *t, const struct user_regs_struct *r, uint64_t now_ns)
{
	uint64_t before = t->undone.sleeps;

	t->undone.sleeps = 0;
	if (t->undone.rip == r->rip && t->undone.sp == r->rsp)
		t->undone.sleeps = procfs_sleeps(t->tid);
	if (!before || !t->undone.sleeps || t->undone.sleeps - before > SLEEPS_BETWEEN)
		t->undone.ns = now_ns;
	t->undone.rip = r->rip;
	t->undone.sp = r->rsp;
}

void tracee_undo_interrupt(struct tracee *t, struct user_regs_struct *regs, uint64_t now_ns)
{
	long long result;

	if (!is_our_eintr(t, regs))
		return;
	if (without_end(regs)) {
		start_again(regs);
		return;
	}
	note_undone(t, regs, now_ns);
	if (now_ns - t->undone.ns >= time_limit(t, regs, &result))
		regs->rax = result;
	else if (now_ns - t->undone.ns < UNDO_NS)
		start_again(regs);
}

bool tracee_is_ignored(const struct tracee *t, int sig)
{
	struct procfs_signals s;

	return sig >= 1 && sig <= 64 && procfs_signals(t->tid, &s) == 0 && (s.ignored >> (sig - 1) & 1);
}

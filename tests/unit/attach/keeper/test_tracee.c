/* SPDX-License-Identifier: MIT */
/*
 * tracee: on children of our own, seized as the keeper seizes. Each child does one thing, and exits with a
 * code for what it noticed of being traced.
 */
#include "attach/keeper/tracee.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/keeper/procfs.h"
#include "attach/keeper/shared/event.h"

#define LIMIT_S 20
#define SI_INT3 0x80

/* Shared memory of child and test. */
struct board {
	atomic_int step;	/* how far the child has come */
	atomic_int go;		/* how far it may go */
	atomic_bool seized;
};

static struct board *board;
static int wake;		/* eventfd that sleepers poll */

static time_t seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec;
}

/* --- children --- */

static struct tracee start(int (*body)(void))
{
	struct tracee t = { .state = TRACEE_RUNNING, .stepping = NO_TRAP, .redo = NO_TRAP };

	board->step = 0;
	board->go = 0;
	board->seized = false;
	wake = eventfd(0, EFD_CLOEXEC);
	t.tid = fork();
	assert_true(t.tid >= 0);
	if (t.tid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (!board->seized)
			;
		_exit(body());
	}
	assert_int_equal(tracee_seize(t.tid), 0);
	board->seized = true;
	return t;
}

/* In the child: report this step, and go on when allowed. No system call, so that none is interrupted. */
static void child_at(int step)
{
	board->step = step;
	while (board->go < step)
		;
}

static void wait_step(int step)
{
	time_t limit = seconds() + LIMIT_S;

	while (board->step < step && seconds() < limit)
		poll(NULL, 0, 1);
	assert_true(board->step >= step);
}

static void wait_asleep(const struct tracee *t)
{
	time_t limit = seconds() + LIMIT_S;

	while (procfs_activity(t->tid, t->tid) != ACTIVITY_ASLEEP && seconds() < limit)
		poll(NULL, 0, 1);
	assert_int_equal(procfs_activity(t->tid, t->tid), ACTIVITY_ASLEEP);
}

static struct happening_info next(struct tracee *t)
{
	int status;

	assert_int_equal(waitpid(t->tid, &status, __WALL), t->tid);
	t->state = TRACEE_STOPPED;
	t->status = status;
	return event_decode(status);
}

static void next_is(struct tracee *t, enum happening what, int sig)
{
	struct happening_info h = next(t);

	if (h.what != what || h.sig != sig)
		fail_msg("%s %d, not %s %d", happening_name(h.what), h.sig, happening_name(what), sig);
}

static void stop(struct tracee *t)
{
	assert_int_equal(tracee_interrupt(t), 0);
	assert_true(t->interrupted);
	next_is(t, HAPPENED_STOP, SIGTRAP);
}

static void cont(struct tracee *t, int sig)
{
	assert_int_equal(tracee_cont(t, sig), 0);
	assert_int_equal(t->state, TRACEE_RUNNING);
}

static void ends_with(struct tracee *t, int code)
{
	next_is(t, HAPPENED_EXIT, code);
	close(wake);
}

static void get_rid_of(struct tracee *t)
{
	struct happening_info h;

	kill(t->tid, SIGKILL);
	do
		h = next(t);
	while (h.what != HAPPENED_KILLED);
	close(wake);
}

static void report_step(void)
{
	const uint64_t one = 1;

	assert_int_equal(write(wake, &one, sizeof(one)), sizeof(one));
}

static int spin(void)
{
	child_at(1);
	return 0;
}

/* --- requests --- */

static void seizing_stops_nobody(void **state)
{
	struct tracee t = start(spin);

	(void)state;
	wait_step(1);
	assert_int_equal(procfs_activity(t.tid, t.tid), ACTIVITY_BUSY);
	assert_int_equal(waitpid(t.tid, NULL, WNOHANG | __WALL), 0);
	assert_int_equal(tracee_seize(t.tid), -EPERM); /* seized by us already */
	board->go = 1;
	ends_with(&t, 0);
}

static void who_is_gone_is_not_seized(void **state)
{
	pid_t child = fork();
	siginfo_t si;

	(void)state;
	if (child == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, child, &si, WEXITED | WNOWAIT), 0);
	assert_true(tracee_seize(child) < 0); /* a zombie: EPERM or ESRCH */
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(tracee_seize(child), -ESRCH);
}

/*
 * Killed while it is stopped, or gone: every request returns an error, and none claims to have done anything.
 */
static void requests_on_the_dead(void **state)
{
	struct tracee t = start(spin);
	struct user_regs_struct regs = { 0 }, other = { .rax = 1 }, many = { .rax = 1, .rbx = 1, .rcx = 1 };
	unsigned long msg;
	siginfo_t si;
	int code;

	(void)state;
	wait_step(1);
	stop(&t);
	assert_int_equal(kill(t.tid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, t.tid, &si, WEXITED | WNOWAIT | __WALL), 0);
	assert_int_equal(tracee_regs(&t, &regs), -ESRCH);
	assert_int_equal(tracee_set_regs(&t, &regs, &regs), 0); /* nothing to do */
	assert_int_equal(tracee_set_regs(&t, &regs, &other), -ESRCH);
	assert_int_equal(tracee_set_regs(&t, &regs, &many), -ESRCH);
	assert_int_equal(tracee_event_msg(&t, &msg), -ESRCH);
	assert_int_equal(tracee_signal_code(&t, &code), -ESRCH);
	assert_false(tracee_pending(&t, 0, NULL));
	assert_int_equal(tracee_detach(&t, 0), -ESRCH);
	t.interrupted = false;
	(void)!tracee_interrupt(&t);
	tracee_mend_mask(&t, true);
	/* it does not run, but we cannot serve it any more: its end follows */
	t.state = TRACEE_STOPPED;
	assert_int_equal(tracee_cont(&t, 0), -ESRCH);
	assert_int_equal(t.state, TRACEE_RUNNING);
	t.state = TRACEE_STOPPED;
	assert_int_equal(tracee_step(&t, 0), -ESRCH);
	assert_int_equal(t.state, TRACEE_RUNNING);
	next_is(&t, HAPPENED_KILLED, SIGKILL);
	close(wake);
}

/* A request that was refused for another reason leaves it stopped. */
static void a_refused_restart_leaves_it_stopped(void **state)
{
	struct tracee t = start(spin);

	(void)state;
	wait_step(1);
	stop(&t);
	assert_int_equal(tracee_cont(&t, 1000), -EIO); /* no such signal */
	assert_int_equal(t.state, TRACEE_STOPPED);
	board->go = 1;
	cont(&t, 0);
	ends_with(&t, 0);
}

static int stops_itself(void)
{
	raise(SIGSTOP);
	return 0;
}

static void group_stop(void **state)
{
	struct tracee t = start(stops_itself);

	(void)state;
	next_is(&t, HAPPENED_SIGNAL, SIGSTOP);
	cont(&t, SIGSTOP);
	next_is(&t, HAPPENED_GROUP_STOP, SIGSTOP);
	assert_int_equal(tracee_listen(&t), 0);
	assert_int_equal(t.state, TRACEE_LISTENING);
	assert_int_equal(waitpid(t.tid, NULL, WNOHANG | __WALL), 0);
	assert_int_equal(kill(t.tid, SIGCONT), 0);
	next_is(&t, HAPPENED_STOP, SIGTRAP);
	cont(&t, 0);
	next_is(&t, HAPPENED_SIGNAL, SIGCONT);
	cont(&t, SIGCONT);
	ends_with(&t, 0);
}

static int forks(void)
{
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	return waitpid(child, NULL, 0) == child ? 0 : 1;
}

static void event_message(void **state)
{
	struct tracee t = start(forks), born = { 0 };
	unsigned long msg = 0;

	(void)state;
	next_is(&t, HAPPENED_FORK, SIGTRAP);
	assert_int_equal(tracee_event_msg(&t, &msg), 0);
	born.tid = msg;
	next_is(&born, HAPPENED_STOP, SIGTRAP);
	assert_int_equal(tracee_detach(&born, 0), 0);
	cont(&t, 0);
	next_is(&t, HAPPENED_SIGNAL, SIGCHLD);
	cont(&t, 0);
	ends_with(&t, 0);
}

/*
 * A child of a tracee is ours from birth, whether or not its stop was seen; the stop can still be collected.
 */
static void is_ours(void **state)
{
	struct tracee t = start(forks), born = { 0 };
	unsigned long msg = 0;
	siginfo_t si;

	(void)state;
	next_is(&t, HAPPENED_FORK, SIGTRAP);
	assert_int_equal(tracee_event_msg(&t, &msg), 0);
	born.tid = msg;
	assert_int_equal(waitid(P_PID, born.tid, &si, WSTOPPED | WNOWAIT | __WALL), 0);
	for (int i = 0; i < 3; i++) {
		assert_true(tracee_is_ours(born.tid));
		assert_true(tracee_is_ours(t.tid));
	}
	next_is(&born, HAPPENED_STOP, SIGTRAP);
	assert_true(tracee_is_ours(born.tid));
	assert_int_equal(tracee_detach(&born, 0), 0);
	assert_false(tracee_is_ours(born.tid));
	cont(&t, 0);
	next_is(&t, HAPPENED_SIGNAL, SIGCHLD);
	cont(&t, 0);
	ends_with(&t, 0);
	assert_false(tracee_is_ours(t.tid)); /* gone */
	assert_false(tracee_is_ours(getppid()));
	assert_false(tracee_is_ours(1 << 30));
}

/* --- registers --- */

static void all_registers(const struct tracee *t, struct user_regs_struct *regs)
{
	assert_int_equal(ptrace(PTRACE_GETREGS, t->tid, NULL, regs), 0);
}

static unsigned long long *word(struct user_regs_struct *regs, size_t i)
{
	return (unsigned long long *)regs + i;
}

#define WORDS (sizeof(struct user_regs_struct) / sizeof(unsigned long long))

/* Registers that the kernel accepts any value for. */
static const size_t settable[] = {
	offsetof(struct user_regs_struct, r15) / 8, offsetof(struct user_regs_struct, rbp) / 8,
	offsetof(struct user_regs_struct, rax) / 8, offsetof(struct user_regs_struct, rdi) / 8,
	offsetof(struct user_regs_struct, rip) / 8, offsetof(struct user_regs_struct, rsp) / 8,
	offsetof(struct user_regs_struct, r8) / 8, offsetof(struct user_regs_struct, rcx) / 8,
};
#define SETTABLE (sizeof(settable) / sizeof(settable[0]))

/* Any number of changed registers are set, and no others change. */
static void registers_arrive(void **state)
{
	struct tracee t = start(spin);
	struct user_regs_struct first, before, after, got;

	(void)state;
	wait_step(1);
	stop(&t);
	all_registers(&t, &first);
	before = first;
	srandom(7);
	for (int round = 0; round < 500; round++) {
		after = before;
		for (size_t i = 0; i < SETTABLE; i++)
			if (random() % SETTABLE < (unsigned int)round % 6)
				*word(&after, settable[i]) = 0x100000 + random();
		assert_int_equal(tracee_set_regs(&t, &before, &after), 0);
		all_registers(&t, &got);
		assert_memory_equal(&got, &after, sizeof(got));
		before = after;
	}
	/* it survived all this only if everything is restored */
	assert_int_equal(tracee_set_regs(&t, &before, &first), 0);
	board->go = 1;
	cont(&t, 0);
	ends_with(&t, 0);
}

/* Up to two registers are written one by one: the others are not even touched. */
static void only_what_differs_is_written(void **state)
{
	struct tracee t = start(spin);
	struct user_regs_struct has, before, after, got;

	(void)state;
	wait_step(1);
	stop(&t);
	all_registers(&t, &has);
	for (int n = 0; n <= 2; n++) {
		before = has;
		/* @before is not what the thread has, except where something is to change */
		for (size_t i = 3; i < SETTABLE; i++)
			*word(&before, settable[i]) ^= 0x1234;
		after = before;
		for (int i = 0; i < n; i++)
			*word(&after, settable[i]) ^= 0x55;
		assert_int_equal(tracee_set_regs(&t, &before, &after), 0);
		all_registers(&t, &got);
		for (size_t i = 0; i < WORDS; i++) {
			bool changed = false;

			for (int j = 0; j < n; j++)
				changed |= i == settable[j];
			assert_int_equal(*word(&got, i), changed ? *word(&after, i) : *word(&has, i));
		}
		assert_int_equal(tracee_set_regs(&t, &got, &has), 0);
	}
	board->go = 1;
	cont(&t, 0);
	ends_with(&t, 0);
}

static void a_step_is_one_instruction(void **state)
{
	struct tracee t = start(spin);
	struct user_regs_struct regs;
	int code = 0;

	(void)state;
	wait_step(1);
	stop(&t);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(tracee_step(&t, 0), 0);
		assert_int_equal(t.state, TRACEE_RUNNING);
		next_is(&t, HAPPENED_SIGNAL, SIGTRAP);
		assert_int_equal(tracee_signal_code(&t, &code), 0);
		assert_int_equal(code, 2); /* TRAP_TRACE */
		assert_int_equal(tracee_regs(&t, &regs), 0);
		assert_false(regs.eflags & 0x100); /* our trap flag must not be visible */
	}
	board->go = 1;
	cont(&t, 0);
	ends_with(&t, 0);
}

/* --- system calls that our stop interrupted --- */

static int sleep_in_epoll(void)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int ep = epoll_create1(EPOLL_CLOEXEC), n;

	epoll_ctl(ep, EPOLL_CTL_ADD, wake, &ev);
	board->step = 1;
	n = epoll_wait(ep, &ev, 1, 10000);
	return n == 1 ? 0 : n == 0 ? 11 : errno == EINTR ? 10 : 12;
}

static void ignore(int sig)
{
	(void)sig;
}

static int sleep_with_a_handler(void)
{
	/* with SA_RESTART too: epoll_wait is never restarted */
	const struct sigaction sa = { .sa_handler = ignore, .sa_flags = SA_RESTART };

	sigaction(SIGUSR1, &sa, NULL);
	return sleep_in_epoll();
}

/* Interrupt it in its call; returns the registers at that stop. */
static struct user_regs_struct interrupt_call(struct tracee *t)
{
	struct user_regs_struct regs;

	wait_step(1);
	wait_asleep(t);
	stop(t);
	assert_int_equal(tracee_regs(t, &regs), 0);
	assert_int_equal((long long)regs.rax, -EINTR);
	assert_true((long long)regs.orig_rax >= 0);
	return regs;
}

static void undo(struct tracee *t, const struct user_regs_struct *before)
{
	struct user_regs_struct regs = *before;

	tracee_restart_call(t, &regs);
	assert_int_equal(tracee_set_regs(t, before, &regs), 0);
}

/* Without the restart the child sees EINTR: otherwise the next test would show nothing. */
static void interrupting_is_seen(void **state)
{
	struct tracee t = start(sleep_in_epoll);

	(void)state;
	interrupt_call(&t);
	cont(&t, 0);
	ends_with(&t, 10);
}

static void interrupting_is_undone(void **state)
{
	struct tracee t = start(sleep_in_epoll);

	(void)state;
	for (int i = 0; i < 20; i++) {
		struct user_regs_struct before = interrupt_call(&t), after = before;

		tracee_restart_call(&t, &after);
		assert_int_equal(after.rax, SYS_epoll_wait);
		assert_int_equal(after.rip, before.rip - 2);
		after.rax = before.rax;
		after.rip = before.rip;
		assert_memory_equal(&after, &before, sizeof(after));
		undo(&t, &before);
		cont(&t, 0);
	}
	wait_asleep(&t);
	assert_int_equal(waitpid(t.tid, NULL, WNOHANG | __WALL), 0);
	report_step();
	ends_with(&t, 0);
}

/* A signal on its way has made the call fail, or would have: we must not undo that. */
static void a_signal_on_its_way_is_the_truth(void **state)
{
	struct tracee t = start(sleep_with_a_handler);
	struct user_regs_struct before, after;

	(void)state;
	before = interrupt_call(&t);
	assert_int_equal(kill(t.tid, SIGUSR1), 0);
	after = before;
	tracee_restart_call(&t, &after);
	assert_memory_equal(&after, &before, sizeof(after));
	cont(&t, 0);
	next_is(&t, HAPPENED_SIGNAL, SIGUSR1);
	cont(&t, SIGUSR1);
	ends_with(&t, 10);
}

static int sleep_with_one_blocked(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	sigprocmask(SIG_SETMASK, &set, NULL);
	raise(SIGPIPE); /* as a write to a closed socket does */
	return sleep_in_epoll();
}

/* A blocked signal interrupts nothing, though it may be pending for years (SIGPIPE of a worker thread). */
static void a_blocked_signal_is_not(void **state)
{
	struct tracee t = start(sleep_with_one_blocked);
	struct user_regs_struct before;

	(void)state;
	before = interrupt_call(&t);
	undo(&t, &before);
	cont(&t, 0);
	report_step();
	ends_with(&t, 0);
}

static int sleep_in_epoll_pwait(void)
{
	const struct sigaction sa = { .sa_handler = ignore };
	struct epoll_event ev = { .events = EPOLLIN };
	int ep = epoll_create1(EPOLL_CLOEXEC), n;
	sigset_t set;

	sigaction(SIGUSR1, &sa, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_SETMASK, &set, NULL);
	epoll_ctl(ep, EPOLL_CTL_ADD, wake, &ev);
	sigemptyset(&set);
	board->step = 1;
	n = epoll_pwait(ep, &ev, 1, 10000, &set);
	return n == 1 ? 0 : n == 0 ? 11 : errno == EINTR ? 10 : 12;
}

/* Blocked outside of the call, not within it: that is what epoll_pwait, ppoll and pselect are for. */
static void a_signal_blocked_but_for_this_call_is_the_truth(void **state)
{
	struct tracee t = start(sleep_in_epoll_pwait);
	struct user_regs_struct before;

	(void)state;
	before = interrupt_call(&t);
	assert_int_equal(kill(t.tid, SIGUSR1), 0);
	undo(&t, &before);
	cont(&t, 0);
	next_is(&t, HAPPENED_SIGNAL, SIGUSR1);
	cont(&t, SIGUSR1);
	ends_with(&t, 10);
}

/* Other results, and stops that are not in a call. */
static void nothing_else_is_restarted(void **state)
{
	static const struct { long long rax, orig_rax; } cases[] = {
		{ 0, SYS_epoll_wait }, { 1, SYS_epoll_wait }, { -EAGAIN, SYS_epoll_wait },
		/* the kernel restarts these itself */
		{ -512, SYS_read }, { -514, SYS_pause }, { -516, SYS_nanosleep },
		{ -EINTR, -1 }, { SYS_epoll_wait, SYS_epoll_wait },
	};
	struct tracee t = start(spin);

	(void)state;
	wait_step(1);
	stop(&t);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct user_regs_struct regs = {
			.rax = cases[i].rax, .orig_rax = cases[i].orig_rax, .rip = 0x1000,
		};
		struct user_regs_struct after = regs;

		tracee_restart_call(&t, &after);
		assert_memory_equal(&after, &regs, sizeof(after));
	}
	board->go = 1;
	cont(&t, 0);
	ends_with(&t, 0);
}

/*
 * The kernel has closed the descriptor when close fails with EINTR: a second close could close another
 * thread's.
 */
static void close_is_never_restarted(void **state)
{
	struct tracee t = start(spin);
	struct user_regs_struct regs = { .rax = -EINTR, .orig_rax = SYS_close, .rip = 0x1000 }, after = regs;

	(void)state;
	wait_step(1);
	stop(&t);
	tracee_restart_call(&t, &after);
	if (after.rip != regs.rip) {
		get_rid_of(&t);
		fail_msg("close would be called twice");
	}
	board->go = 1;
	cont(&t, 0);
	ends_with(&t, 0);
}

/* --- pending signals --- */

static int block_all_and_spin(void)
{
	sigset_t set;

	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	child_at(1);
	return 0;
}

/* Behind more signals than one request returns. */
static void pending_signals_are_found(void **state)
{
	struct tracee t = start(block_all_and_spin);
	const union sigval v = { .sival_int = 1 };
	int code = 0;

	(void)state;
	wait_step(1);
	stop(&t);
	assert_false(tracee_pending(&t, 0, NULL));
	for (int i = 0; i < 20; i++)
		assert_int_equal(sigqueue(t.tid, SIGRTMIN + 1, v), 0);
	assert_true(tracee_pending(&t, 0, NULL));
	assert_true(tracee_pending(&t, SIGRTMIN + 1, &code));
	assert_int_equal(code, SI_QUEUE);
	assert_false(tracee_pending(&t, SIGTRAP, NULL));
	/* pending for the thread only */
	assert_int_equal(syscall(SYS_tgkill, t.tid, t.tid, SIGTRAP), 0);
	assert_true(tracee_pending(&t, SIGTRAP, &code));
	assert_int_equal(code, SI_TKILL);
	board->go = 1;
	cont(&t, 0);
	ends_with(&t, 0);
}

/* Eight signals before the one looked for, and exactly eight: the edges of a request's batch. */
static void portions_of_pending_signals(void **state)
{
	(void)state;
	for (int before = 7; before <= 17; before++) {
		struct tracee t = start(block_all_and_spin);
		const union sigval v = { .sival_int = 1 };

		wait_step(1);
		stop(&t);
		for (int i = 0; i < before; i++)
			assert_int_equal(sigqueue(t.tid, SIGRTMIN + 1, v), 0);
		assert_false(tracee_pending(&t, SIGTRAP, NULL));
		assert_int_equal(kill(t.tid, SIGTRAP), 0); /* for the process, as the others */
		assert_true(tracee_pending(&t, SIGTRAP, NULL));
		board->go = 1;
		cont(&t, 0);
		ends_with(&t, 0);
	}
}

/* --- masks --- */

static uint64_t mask_of(const struct tracee *t)
{
	uint64_t mask;

	assert_int_equal(ptrace(PTRACE_GETSIGMASK, t->tid, sizeof(mask), &mask), 0);
	return mask;
}

static bool blocks_trap(const struct tracee *t)
{
	return mask_of(t) & 1ull << (SIGTRAP - 1);
}

/* Runs an int3 with @set blocked; returns what is different afterwards. */
static int trap_with(const sigset_t *set)
{
	sigset_t after;

	sigprocmask(SIG_SETMASK, set, NULL);
	__asm__ volatile("int3");
	sigprocmask(SIG_SETMASK, NULL, &after);
	for (int sig = 1; sig <= 64; sig++) {
		int expected = sig == SIGKILL || sig == SIGSTOP ? 0 : sigismember(set, sig);

		if (sigismember(&after, sig) != expected)
			return sig;
	}
	return 0;
}

static int trap_with_all_blocked(void)
{
	sigset_t set;

	sigfillset(&set);
	return trap_with(&set);
}

static int trap_with_none_blocked(void)
{
	sigset_t set;

	sigemptyset(&set);
	return trap_with(&set);
}

static int trap_with_some_blocked(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGSEGV);
	return trap_with(&set);
}

static void stopped_at_int3(struct tracee *t)
{
	int code = 0;

	next_is(t, HAPPENED_SIGNAL, SIGTRAP);
	assert_int_equal(tracee_signal_code(t, &code), 0);
	assert_int_equal(code, SI_INT3);
}

static void a_trap_changes_the_mask(void **state)
{
	struct tracee t = start(trap_with_all_blocked);

	(void)state;
	stopped_at_int3(&t);
	assert_false(blocks_trap(&t));
	cont(&t, 0);
	ends_with(&t, SIGTRAP); /* and the child sees it: otherwise the next test would show nothing */
}

static void a_filled_mask_is_mended(void **state)
{
	struct tracee t = start(trap_with_all_blocked);

	(void)state;
	stopped_at_int3(&t);
	tracee_mend_mask(&t, true);
	assert_int_equal(t.mask, MASK_FILLED);
	assert_true(blocks_trap(&t));
	tracee_mend_mask(&t, true); /* once is enough */
	assert_true(blocks_trap(&t));
	cont(&t, 0);
	ends_with(&t, 0);
}

static void other_masks_are_left_alone(void **state)
{
	int (*const bodies[])(void) = { trap_with_none_blocked, trap_with_some_blocked };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct tracee t = start(bodies[i]);
		uint64_t before;

		stopped_at_int3(&t);
		before = mask_of(&t);
		tracee_mend_mask(&t, true);
		assert_int_equal(t.mask, MASK_UNKNOWN);
		assert_int_equal(mask_of(&t), before);
		cont(&t, 0);
		ends_with(&t, 0);
	}
}

/* If the mask from before the attach is known, it decides. */
static void the_first_mask_decides(void **state)
{
	const uint64_t trap = 1ull << (SIGTRAP - 1);
	struct tracee t = start(trap_with_all_blocked);
	uint64_t cleared;

	(void)state;
	stopped_at_int3(&t);
	cleared = mask_of(&t);
	tracee_note_mask(&t, cleared); /* all but SIGTRAP, by its own choice */
	assert_int_equal(t.mask, MASK_OPEN);
	tracee_mend_mask(&t, true);
	assert_int_equal(mask_of(&t), cleared);
	tracee_note_mask(&t, trap | 1); /* it has changed since */
	assert_int_equal(t.mask, MASK_BLOCKS);
	t.first_mask = trap | 1;
	tracee_mend_mask(&t, true);
	assert_int_equal(t.mask, MASK_FILLED);
	get_rid_of(&t);

	t = start(trap_with_none_blocked);
	stopped_at_int3(&t);
	tracee_note_mask(&t, mask_of(&t) | trap); /* SIGTRAP alone */
	tracee_mend_mask(&t, false);
	assert_true(blocks_trap(&t));
	get_rid_of(&t);
}

/*
 * A thread that was found to fill its mask is checked each time; others once in 64 hits, the first among
 * them.
 */
static void looked_at_now_and_then(void **state)
{
	struct tracee t = start(trap_with_all_blocked);

	(void)state;
	stopped_at_int3(&t);
	for (t.hits = 2; t.hits <= 64; t.hits++) {
		tracee_mend_mask(&t, false);
		assert_false(blocks_trap(&t));
	}
	t.hits = 65;
	tracee_mend_mask(&t, false);
	assert_true(blocks_trap(&t));
	assert_int_equal(t.mask, MASK_FILLED);
	cont(&t, 0);
	ends_with(&t, 0);

	t = start(trap_with_all_blocked);
	stopped_at_int3(&t);
	t.hits = 1;
	tracee_mend_mask(&t, false);
	assert_true(blocks_trap(&t));
	cont(&t, 0);
	ends_with(&t, 0);

	t = start(trap_with_all_blocked);
	stopped_at_int3(&t);
	t.hits = 30;
	t.mask = MASK_FILLED;
	tracee_mend_mask(&t, false);
	assert_true(blocks_trap(&t));
	cont(&t, 0);
	ends_with(&t, 0);
}

static bool ptrace_allowed(void)
{
	pid_t child = fork();
	int r;

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	r = tracee_seize(child);
	kill(child, SIGKILL);
	waitpid(child, NULL, __WALL);
	return r == 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seizing_stops_nobody),
		cmocka_unit_test(who_is_gone_is_not_seized),
		cmocka_unit_test(requests_on_the_dead),
		cmocka_unit_test(is_ours),
		cmocka_unit_test(a_refused_restart_leaves_it_stopped),
		cmocka_unit_test(group_stop),
		cmocka_unit_test(event_message),
		cmocka_unit_test(registers_arrive),
		cmocka_unit_test(only_what_differs_is_written),
		cmocka_unit_test(a_step_is_one_instruction),
		cmocka_unit_test(interrupting_is_seen),
		cmocka_unit_test(interrupting_is_undone),
		cmocka_unit_test(a_signal_on_its_way_is_the_truth),
		cmocka_unit_test(a_blocked_signal_is_not),
		cmocka_unit_test(a_signal_blocked_but_for_this_call_is_the_truth),
		cmocka_unit_test(nothing_else_is_restarted),
		cmocka_unit_test(close_is_never_restarted),
		cmocka_unit_test(pending_signals_are_found),
		cmocka_unit_test(portions_of_pending_signals),
		cmocka_unit_test(a_trap_changes_the_mask),
		cmocka_unit_test(a_filled_mask_is_mended),
		cmocka_unit_test(other_masks_are_left_alone),
		cmocka_unit_test(the_first_mask_decides),
		cmocka_unit_test(looked_at_now_and_then),
	};

	if (!ptrace_allowed())
		return 77;
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (board == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
#include "attach/keeper/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "attach/keeper/copies/copies.h"
#include "attach/keeper/gdb/relay.h"
#include "attach/keeper/leave.h"
#include "attach/keeper/loop.h"
#include "attach/keeper/notify.h"
#include "attach/keeper/pause/exit_hold.h"
#include "attach/keeper/pause/pausing.h"
#include "attach/keeper/procfs.h"
#include "attach/keeper/sched/sched_priority.h"
#include "attach/keeper/seize.h"
#include "attach/keeper/traps/hit.h"
#include "base/fdio.h"
#include "attach/keeper/wait_stops.h"

#define STACK_BYTES (64u << 10)
#define IDLE_NS 500000000ull	/* limits are checked this often when nothing happens */

/* For the crash handler only; NULL while a debugger is the tracer: then nothing in the target is ours. */
static struct keeper *the_keeper;

/* --- commands --- */

static int64_t plant(struct keeper *k, uint32_t first, uint32_t n)
{
	struct shared *sh = k->shared;
	int64_t planted = 0;

	if (first > SHARED_SITES || n > SHARED_SITES - first)
		return -EINVAL;
	for (uint32_t i = first; i < first + n; i++) {
		sh->plant_result[i] = budget_plant(k, i);
		planted += sh->plant_result[i] == 0;
	}
	return planted;
}

static int64_t forget(struct keeper *k, uint32_t first, uint32_t n)
{
	if (first > SHARED_SITES || n > SHARED_SITES - first)
		return -EINVAL;
	budget_forget(k, first, n);
	trap_forget(&k->traps, k->mem, first, n);
	return 0;
}

static int64_t lift(struct keeper *k, uint32_t first, uint32_t n)
{
	int64_t left = 0;

	if (first > SHARED_SITES || n > SHARED_SITES - first)
		return -EINVAL;
	for (uint32_t i = first; i < first + n; i++)
		left += trap_lift(&k->traps, k->mem, i) < 0;
	return left;
}

static bool is_held(struct keeper *k, pid_t tid, uint32_t hold)
{
	struct tracee *t = threads_find(&k->threads, tid);

	return t && t->state == TRACEE_HELD && t->hold == hold;
}

static int64_t release(struct keeper *k, pid_t tid, uint32_t hold)
{
	if (!is_held(k, tid, hold))
		return -ESRCH;
	hit_release(k, threads_find(&k->threads, tid));
	return 0;
}

/* A round of @site begins before the thread is released: mostly the thread runs into that trap next. */
static int64_t lead(struct keeper *k, pid_t tid, uint32_t hold, uint32_t site)
{
	bool planted = site < SHARED_SITES && is_held(k, tid, hold) && budget_begin_round(k, site);
	int64_t r = release(k, tid, hold);

	return r < 0 ? r : planted;
}

/*
 * Report the number of threads with the answer: the controller reserves space for so many at once, and the
 * loop's next round may be late if no thread runs.
 */
static int64_t seize(struct keeper *k, pid_t pid)
{
	int r = seize_process(k, pid);

	atomic_store(&k->shared->threads, k->threads.used - k->others);
	return r;
}

static int64_t carry_out(struct keeper *k)
{
	struct shared *sh = k->shared;

	switch (sh->op) {
	case COMMAND_SEIZE:
		return seize(k, sh->arg);
	case COMMAND_PLANT:
		return k->target ? plant(k, sh->arg, sh->arg2) : -EINVAL;
	case COMMAND_FORGET:
		return forget(k, sh->arg, sh->arg2);
	case COMMAND_LIFT:
		return lift(k, sh->arg, sh->arg2);
	case COMMAND_RELEASE:
		return release(k, sh->arg, sh->arg2);
	case COMMAND_LEAD:
		return lead(k, sh->arg, sh->arg2, sh->arg2 >> 32);
	case COMMAND_STOP_ALL:
		return pausing_stop(k, sh->arg);
	case COMMAND_NEXT_STOPPED:
		return pausing_next(k, sh->arg);
	case COMMAND_RESUME_ALL:
		return pausing_end(k);
	case COMMAND_LET_END:
		return exit_hold_let_go(k);
	case COMMAND_ADOPT:
		return copies_adopt(k, sh->arg, sh->arg2);
	case COMMAND_SHARE:
		budget_share(k, sh->arg);
		return 0;
	case COMMAND_NOTE:
		budget_note(k, sh->arg);
		return 0;
	case COMMAND_LEAVE:
		k->leave_reason = LEFT_ASKED;
		return 0;
	default:
		return -EINVAL;
	}
}

static void read_mail(struct keeper *k)
{
	struct shared *sh = k->shared;
	uint32_t seq = atomic_load(&sh->seq);

	if (seq == atomic_load(&sh->done))
		return;
	sh->result = carry_out(k);
	/* a seize that failed half way must leave nothing behind */
	if (sh->op == COMMAND_SEIZE && sh->result < 0 && !k->leave_reason)
		k->leave_reason = LEFT_ASKED;
	atomic_store(&sh->done, seq);
	notify_ring(k);
}

/* --- life --- */

static bool orphaned(const struct keeper *k)
{
	return getppid() != k->controller;
}

/*
 * A trap in a thread that blocks SIGTRAP (in its handler, for one) makes the kernel reset the handler. A
 * target without a handler has nothing to lose.
 */
static bool sigtrap_at_risk(struct keeper *k)
{
	struct procfs_signals s;
	struct tracee *t;

	if (k->shared->lose_sigtrap || !k->watching)
		return false;
	t = threads_first(&k->threads);
	return t && procfs_signals(t->tid, &s) == 0 && (s.handled >> (SIGTRAP - 1) & 1);
}

/* Must it leave? @news: enum wait_news, of the process. */
static void check_life(struct keeper *k, uint32_t news)
{
	const bool due = k->now_ns >= k->next_parent_ns;

	/* checked also without the signal: the controller may have died before that was set up */
	if (!k->first && (news & NEWS_ORPHAN || due) && orphaned(k))
		k->leave_reason = LEFT_ORPHAN;
	if (due) {
		k->next_parent_ns = k->now_ns + IDLE_NS;
		if (sigtrap_at_risk(k))
			k->leave_reason = LEFT_SIGTRAP;
		if (k->first)
			copies_check(k);
	}
	if (news & NEWS_TERM)
		k->leave_reason = LEFT_TERM;
	/* check the mailbox itself: the signal only wakes us */
	if (!k->leave_reason)
		read_mail(k);
}

static void check_all(struct keeper *first)
{
	uint32_t news = 0, i = 0;

	for (struct keeper *s = first; s; s = keeper_next(s, &i)) {
		news |= s->news;
		s->news = 0;
	}
	i = 0;
	for (struct keeper *s = first; s; s = keeper_next(s, &i))
		if (!s->gone && !s->left_ns)
			check_life(s, news);
	if (news & NEWS_TERM)
		first->leave_reason = LEFT_TERM;
}

/* Those that must leave while others stay. false: none stays, or the process was asked to end. */
static bool others_stay(struct keeper *first)
{
	uint32_t i = 0;

	if (!first->ncopies || first->leave_reason == LEFT_TERM)
		return !first->leave_reason;
	for (struct keeper *s = first; s; s = keeper_next(s, &i))
		if (s->leave_reason && !s->left_ns)
			leave_alone(s);
	copies_free_gone(first);
	return first->ncopies || !first->leave_reason;
}

_Noreturn static void run(struct keeper *k)
{
	do {
		loop_round(k, IDLE_NS);
		check_all(k);
	} while (others_stay(k));
	leave(k, k->leave_reason);
	_exit(0);
}

/*
 * A signal as of a crash may come from another process, as SIGABRT of a supervisor. It mostly comes in the
 * middle of a ptrace request, and what that has done is not in our tables yet: where we left right there, a
 * process died in 4 of 260 times. Nothing is broken, so that is finished, and then we leave as for SIGTERM. A
 * second one is taken for a crash: perhaps we hang.
 */
static bool is_sent(const siginfo_t *si)
{
	static bool before;

	if (si->si_code > 0 || si->si_pid == getpid() || before)
		return false;
	before = true;
	return true;
}

static void catch_crash(int sig);

/* Our own crash: leave in the same way, then exit. */
static void crashed(int sig, siginfo_t *si, void *context)
{
	(void)context;
	if (the_keeper && is_sent(si)) {
		catch_crash(sig);
		kill(getpid(), SIGTERM);
		return;
	}
	if (the_keeper)
		leave(the_keeper, LEFT_CRASH);
	_exit(1);
}

static void catch_crash(int sig)
{
	const struct sigaction sa = { .sa_sigaction = crashed,
				      .sa_flags = SA_ONSTACK | SA_RESETHAND | SA_SIGINFO | SA_RESTART };

	sigaction(sig, &sa, NULL);
}

static void catch_crashes(void)
{
	static uint8_t stack[64 << 10];
	const stack_t ss = { .ss_sp = stack, .ss_size = sizeof(stack) };
	static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };

	sigaltstack(&ss, NULL);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		catch_crash(signals[i]);
}

static void set_signals(struct keeper *k)
{
	sigset_t blocked;

	/*
	 * blocked, not ignored: SIGCHLD must become pending to be waited for; signals of the terminal just
	 * stay pending
	 */
	sigfillset(&blocked);
	sigdelset(&blocked, SIGSEGV);
	sigdelset(&blocked, SIGBUS);
	sigdelset(&blocked, SIGFPE);
	sigdelset(&blocked, SIGILL);
	sigdelset(&blocked, SIGABRT);
	/* before the first tracee: changing the disposition of SIGCHLD discards one that is pending */
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_SETMASK, &blocked, NULL);
	sigemptyset(&k->signals);
	sigaddset(&k->signals, SIGCHLD);
	sigaddset(&k->signals, KEEPER_TICK);
	sigaddset(&k->signals, KEEPER_MAIL);
	sigaddset(&k->signals, KEEPER_ORPHAN);
	sigaddset(&k->signals, SIGTERM);
	catch_crashes();
}

static void set_name(int argc, char **argv)
{
	static const char name[] = "mm-keeper";
	char *end = argv[argc - 1] + strlen(argv[argc - 1]);

	prctl(PR_SET_NAME, name);
	if (end - argv[0] >= (ptrdiff_t)sizeof(name)) {
		memset(argv[0], 0, end - argv[0]);
		memcpy(argv[0], name, sizeof(name));
	}
}

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!write(fd, text, strlen(text));
	close(fd);
}

/* Each of these helps, none is needed: what is not allowed is left out. */
static void make_hard_to_kill(bool own_session)
{
	write_text("/proc/self/oom_score_adj", "0"); /* always allowed; the watch may have offered itself */
	write_text("/proc/self/oom_score_adj", "-900");
	sched_priority_ask();
	/*
	 * with autogroups each session has its share of the processors, and the nice value counts only within
	 * it. A session that is not our own, perhaps the target's, keeps its share
	 */
	if (own_session)
		write_text("/proc/self/autogroup", "-10");
	if (mlockall(MCL_CURRENT | MCL_FUTURE) < 0)
		(void)mlockall(MCL_CURRENT);
	/*
	 * the keeper needs no more memory now. If a control group is killed as a whole, only this spares the
	 * keeper, and with it the target
	 */
	write_text("/proc/self/oom_score_adj", "-1000");
}

static void close_between(unsigned int first, unsigned int last)
{
	if (first <= last)
		close_range(first, last, 0);
}

/* Close all from 3 on except @keep[0..n); negative ones do not count. */
static void close_but(const int *keep, int n)
{
	unsigned int from = 3;

	for (;;) {
		int next = INT_MAX;

		for (int i = 0; i < n; i++)
			if (keep[i] >= (int)from && keep[i] < next)
				next = keep[i];
		if (next == INT_MAX)
			break;
		close_between(from, next - 1);
		from = next + 1;
	}
	close_between(from, UINT_MAX);
}

/* Close all but the doorbell and what leads to gdb: the terminal and other files are not the keeper's. */
static void close_files(struct keeper *k)
{
	const struct slots *slots = k->shared->slots;
	int keep[4 + SLOTS], n = 0, null;

	keep[n++] = k->shared->bell;
	keep[n++] = k->shared->gdb;
	keep[n++] = k->shared->gdb_mem;
	if (slots)
		keep[n++] = slots->bell;
	for (int i = 0; slots && i < SLOTS; i++)
		keep[n++] = slots->all[i].bell;
	close_but(keep, n);
	null = open_null();
	for (int fd = 0; fd < 3 && null >= 0; fd++)
		dup2(null, fd);
	if (null > 2)
		close(null);
}

static struct keeper *new_keeper(struct shared *shared)
{
	struct keeper *k = mmap(NULL, sizeof(*k), PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (k == MAP_FAILED)
		return NULL;
	k->shared = shared;
	k->controller = getpid();
	k->mem = -1;
	k->read_mem = -1;
	k->now_ns = keeper_clock_ns();
	k->reader.unread = stall_timer_begin(k->now_ns);
	k->settled = true;
	calls_init(&k->calls);
	fair_init(&k->fair);
	placement_init(&k->placement, k->now_ns);
	return k;
}

/*
 * Grow the stack to its final size before mlockall: if memory is at its limit (RLIMIT_AS, RLIMIT_MEMLOCK),
 * growing it later would be a SIGSEGV while traps are planted.
 */
static void grow_stack(void)
{
	volatile uint8_t deep[STACK_BYTES];

	for (size_t i = 0; i < sizeof(deep); i += 4096)
		deep[i] = 0;
}

_Noreturn static void keeper_main(struct keeper *k, int argc, char **argv)
{
	struct sigevent tick = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = KEEPER_TICK };
	bool own_session;

	grow_stack();
	own_session = setsid() >= 0;
	set_name(argc, argv);
	set_signals(k);
	if (timer_create(CLOCK_MONOTONIC, &tick, &k->timer) < 0)
		_exit(1);
	prctl(PR_SET_PDEATHSIG, KEEPER_ORPHAN);
	close_files(k);
	copies_reserve(k);
	make_hard_to_kill(own_session);
	copies_open(k);
	if (chdir("/") < 0)
		_exit(1);
	if (k->shared->gdb >= 0)
		relay_run(k);
	budget_begin(k);
	the_keeper = k;
	run(k);
}

int keeper_start(struct shared *shared, int argc, char **argv, pid_t *pid, int *pidfd)
{
	sigset_t all, before;
	struct keeper *k;
	int r = 0, err;

	/* mapped before the fork, so that running out of memory is an ordinary error */
	k = new_keeper(shared);
	/*
	 * a command may be sent before the keeper has set up its signals: blocked, its signal waits;
	 * otherwise it would kill
	 */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	*pid = k ? fork() : -1;
	err = k ? -errno : -ENOMEM;
	if (*pid == 0)
		keeper_main(k, argc, argv);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (*pid < 0)
		r = err;
	if (k)
		munmap(k, sizeof(*k));
	if (r < 0)
		return r;
	*pidfd = syscall(SYS_pidfd_open, *pid, 0);
	return *pidfd < 0 ? -errno : 0;
}

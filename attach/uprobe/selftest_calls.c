/* SPDX-License-Identifier: MIT */
#include "attach/uprobe/selftest_calls.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define WOKEN_NS 100000
#define REST 15				/* for so many times as long as it ran, the one that is woken sleeps */
#define REST_MOST_NS 50000000
#define NAP_NS 20000
#define PATIENCE_NS 100000000ull	/* our parent may have to wait for a processor */
#define TIMED_CALLS 128
#define TIMED_ROUNDS 3			/* the least one counts: there are interrupts */

/* Each begins and ends as most functions do: the kernel emulates a push, and steps over a ret. */
asm(".text\n"
    ".p2align 4\n"
    ".globl selftest_opens, selftest_opens_exit, selftest_brief\n"
    ".type selftest_opens, @function\n"
    "selftest_opens:\n"
    "	push %rbx\n"
    "	mov %rdi, %rax\n"
    "	pop %rbx\n"
    "selftest_opens_exit:\n"
    "	ret\n"
    ".size selftest_opens, . - selftest_opens\n"
    ".p2align 4\n"
    ".type selftest_brief, @function\n"
    "selftest_brief:\n"
    "	push %rbx\n"
    "	pop %rbx\n"
    "	ret\n"
    ".size selftest_brief, . - selftest_brief\n");

uint64_t selftest_mark(uint64_t number)
{
	return number * 0x9e3779b97f4a7c15ull + 1;
}

static void nap(long ns)
{
	const struct timespec t = { 0, ns };

	nanosleep(&t, NULL);
}

/*
 * There is nothing to do since *@since; 0: since now. Our parent may be stopped, for days, and then the first thread
 * and the one with a real-time priority took a third of a processor.
 */
static void wait_idle(uint64_t *since, long ns)
{
	const uint64_t now = clock_ns();

	if (!*since)
		*since = now;
	nap(now - *since < PATIENCE_NS ? ns : REST_MOST_NS);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The mark is in our frame, which is in the slice of stack that the record has. */
static void call_opens(struct selftest_page *p, unsigned thread)
{
	const uint64_t number = p->made[thread] + 1;
	volatile uint64_t mark = selftest_mark(number);

	(void)selftest_opens(number, (const uint64_t *)&mark);
	p->made[thread] = number;
}

static void call_brief(struct selftest_page *p, unsigned thread)
{
	const uint64_t number = p->made[thread] + 1;

	selftest_brief(number);
	p->made[thread] = number;
}

static bool may_call(const struct selftest_page *p)
{
	return p->made[0] + p->made[1] - p->read < SELFTEST_AHEAD;
}

static uint64_t time_of(struct selftest_page *p, void (*call)(struct selftest_page *p, unsigned thread))
{
	uint64_t least = UINT64_MAX;

	for (int round = 0; round < TIMED_ROUNDS; round++) {
		const uint64_t begin = cpu_ns();
		uint64_t took;

		for (int i = 0; i < TIMED_CALLS; i++)
			call(p, 0);
		took = cpu_ns() - begin;
		least = took < least ? took : least;
	}
	return least / TIMED_CALLS;
}

static void *woken(void *arg)
{
	struct selftest_page *p = arg;
	const struct sched_param first = { .sched_priority = 1 };
	uint64_t idle_since = 0;

	(void)!sched_setscheduler(0, SCHED_FIFO, &first);
	p->tids[1] = (uint32_t)syscall(SYS_gettid);
	while (!p->stop) {
		const uint64_t begin = clock_ns();
		uint64_t rest;

		if (!may_call(p)) {
			wait_idle(&idle_since, WOKEN_NS);
			continue;
		}
		idle_since = 0;
		/* it must not keep the parent from reading, for which it would wait */
		for (int i = 0; i < 2 && may_call(p); i++) {
			call_opens(p, 1);
			call_brief(p, 1);
		}
		/* nor its processor from other work, where a hit takes long */
		rest = (clock_ns() - begin) * REST;
		nap(rest < WOKEN_NS ? WOKEN_NS : rest > REST_MOST_NS ? REST_MOST_NS : (long)rest);
	}
	p->ended++;
	return NULL;
}

static void stay_on_one_processor(void)
{
	const int here = sched_getcpu();
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(here < 0 ? 0 : here, &one);
	(void)!sched_setaffinity(0, sizeof(one), &one);
}

/* Not with a real-time priority of ours, which is for no busy thread; and as an idle one it might get no processor. */
static void be_ordinary(void)
{
	const struct sched_param none = { .sched_priority = 0 };

	(void)!sched_setscheduler(0, SCHED_OTHER, &none);
}

static void run(struct selftest_page *p)
{
	uint64_t idle_since = 0;
	pthread_t other;

	be_ordinary();
	stay_on_one_processor();
	p->tids[0] = (uint32_t)syscall(SYS_gettid);
	while (!p->go && !p->stop)
		wait_idle(&idle_since, NAP_NS);
	p->brief_ns = time_of(p, call_brief);
	p->opens_ns = time_of(p, call_opens);
	p->error = (uint32_t)pthread_create(&other, NULL, woken, p);
	if (p->error)
		_exit(1);
	while (!p->stop) {
		if (may_call(p)) {
			call_opens(p, 0);
			call_brief(p, 0);
			idle_since = 0;
		} else {
			wait_idle(&idle_since, NAP_NS);
		}
	}
	p->ended++;
	pthread_join(other, NULL);
}

pid_t selftest_fork(struct selftest_page *page)
{
	const pid_t parent = getpid();
	sigset_t all, before;
	pid_t child;

	/* a handler of ours must not run in the child */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)!close_range(3, ~0u, 0);
		if (getppid() == parent)
			run(page);
		_exit(0);
	}
	if (child < 0)
		child = -errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	return child;
}

/* SPDX-License-Identifier: MIT */
#include "attach/keeper/budget/stop_cost_calibrate.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/keeper/sched/sched_priority.h"
#include "attach/keeper/state.h"

#define STOPS 40
#define LIMIT_NS 200000000ull
/* between two stops: by then our processor is idle, as in a watch, and more deeply so than after 0.3 ms */
#define RUN_NS 1500000ull
/* medians: longer times are cut to this, other processes had the processor then */
#define LONGEST 4
#define WAKE_GUESS_NS 40000
#define RESTART_GUESS_NS 20000
#define CPU_GUESS_NS 10000	/* no still_ns: nothing is learned from a guess (stop_cost_learn.h) */
#define CHILD_STACK 16384

/* The child shares our memory, so nothing is copied, and nothing of ours becomes copy on write. */
struct child {
	_Atomic bool seized;
	_Atomic uint64_t before_ns, after_ns;	/* its int3 */
	_Atomic uint64_t cpu_ns;		/* CPU time that it took of the child */
	pid_t parent;
	_Alignas(16) uint8_t stack[CHILD_STACK];
};

static uint64_t own_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void run_for(uint64_t ns)
{
	uint64_t until = keeper_clock_ns() + ns;

	while (keeper_clock_ns() < until)
		;
}

_Noreturn static int child_main(void *arg)
{
	struct child *c = arg;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/*
	 * as the keeper does: if other processes use its processor, its waiting for that must not be counted
	 */
	sched_priority_ask_for_share();
	while (!atomic_load(&c->seized))
		if (getppid() != c->parent)
			syscall(SYS_exit_group, 0);
		else
			sched_yield();
	for (;;) {
		uint64_t cpu;

		run_for(RUN_NS);
		cpu = own_cpu_ns();
		atomic_store(&c->before_ns, keeper_clock_ns());
		__asm__ volatile("int3");
		atomic_store(&c->after_ns, keeper_clock_ns());
		atomic_store(&c->cpu_ns, own_cpu_ns() - cpu);
	}
}

/*
 * Waits until the child has stopped with SIGTRAP. Returns when that was seen; 0: it did not stop within the
 * limit. @awake_ns: when we could ask.
 */
static uint64_t await_stop(pid_t pid, uint64_t limit_ns, uint64_t *awake_ns)
{
	sigset_t chld;
	int status;

	/* SIGCHLD alone: a command's signal must stay pending */
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);

	for (;;) {
		const struct timespec ms = { 0, 1000000 };
		pid_t got;

		(void)sigtimedwait(&chld, NULL, &ms);
		*awake_ns = keeper_clock_ns();
		got = waitpid(pid, &status, WNOHANG | __WALL);
		if (got == pid)
			return WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP ? keeper_clock_ns() : 0;
		if (got < 0 || keeper_clock_ns() > limit_ns)
			return 0;
	}
}

static int by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void sort(uint64_t *all, size_t n)
{
	qsort(all, n, sizeof(*all), by_size);
}

/*
 * What many stops cost together depends on their mean, not on the median: the longer ones are far longer.
 * @all is sorted.
 */
static uint64_t mean_of(const uint64_t *all, size_t n)
{
	uint64_t longest = LONGEST * all[n / 2], sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += all[i] < longest ? all[i] : longest;
	return sum / n;
}

/*
 * A busy thread usually has a processor of its own, and the keeper wakes on another one. If both are on the
 * same one, a stop takes far less: so the child is kept off our processor as long as this lasts. @mine: where
 * we may run. false: there is only one processor, or this cannot be known; nothing was changed.
 */
static bool separate(pid_t child, cpu_set_t *mine)
{
	cpu_set_t here, there;
	int cpu = sched_getcpu();

	if (cpu < 0 || sched_getaffinity(0, sizeof(*mine), mine) < 0 || CPU_COUNT(mine) < 2 ||
	    !CPU_ISSET(cpu, mine))
		return false;
	there = *mine;
	CPU_CLR(cpu, &there);
	CPU_ZERO(&here);
	CPU_SET(cpu, &here);
	if (sched_setaffinity(0, sizeof(here), &here) < 0)
		return false;
	(void)sched_setaffinity(child, sizeof(there), &there);
	return true;
}

/* One stop, in ns; as the members of struct stop_cost. */
struct stop_times {
	uint64_t wake, restart, still, cpu;
};

/*
 * @awake: when the keeper could ask for the child's status; @seen: when it knew it. Before that, @resumed:
 * when it began to resume the child; @resume_done: when that request returned.
 */
static struct stop_times stop_times(struct child *c, uint64_t awake, uint64_t seen, uint64_t resumed,
				    uint64_t resume_done)
{
	uint64_t before = atomic_load(&c->before_ns), after = atomic_load(&c->after_ns),
		 cpu = atomic_load(&c->cpu_ns);
	/*
	 * between the same points as in stop_cost_learn.c, which compares; the child may run before the call
	 * is over
	 */
	int64_t still = (int64_t)(awake - before) + (int64_t)(after - resume_done) - (int64_t)cpu;

	return (struct stop_times){ seen - before, after - resumed, still > 0 ? (uint64_t)still : 0, cpu };
}

/* The numbers of all stops: an array for each kind. */
struct latencies {
	uint64_t wakes[STOPS], restarts[STOPS], stills[STOPS], cpus[STOPS];
	size_t n;
};

static void add_times(struct latencies *all, struct stop_times times)
{
	all->wakes[all->n] = times.wake;
	all->restarts[all->n] = times.restart;
	all->stills[all->n] = times.still;
	all->cpus[all->n++] = times.cpu;
}

static struct stop_cost summarize(struct latencies *all)
{
	uint64_t wake, restart, still;

	sort(all->wakes, all->n);
	sort(all->restarts, all->n);
	sort(all->stills, all->n);
	sort(all->cpus, all->n);
	wake = mean_of(all->wakes, all->n);
	restart = mean_of(all->restarts, all->n);
	/*
	 * means of different stops: on a busy machine this one may come out longer than both, of which it is
	 * a part
	 */
	still = mean_of(all->stills, all->n);
	/*
	 * of CPU time too little is better than too much: then the target would seem to do no work of its own
	 */
	return (struct stop_cost){ wake, restart, still < wake + restart ? still : wake + restart,
				   all->cpus[all->n / 4] };
}

static void measure(struct stop_cost *l, struct child *c, pid_t pid)
{
	uint64_t limit = keeper_clock_ns() + LIMIT_NS, resumed = 0, resume_done = 0;
	struct tracee t = { .tid = pid };
	struct latencies all = { .n = 0 };

	for (int i = 0; i <= STOPS; i++) {
		uint64_t awake, seen = await_stop(pid, limit, &awake);

		if (!seen)
			break;
		/* the first time, it was not resumed before */
		if (i)
			add_times(&all, stop_times(c, awake, seen, resumed, resume_done));
		resumed = keeper_clock_ns();
		if (tracee_cont(&t, 0) < 0)
			break;
		resume_done = keeper_clock_ns();
	}
	if (all.n >= STOPS / 4)
		*l = summarize(&all);
}

void stop_cost_calibrate(struct stop_cost *l)
{
	static struct child c;
	cpu_set_t mine;
	bool separated;
	pid_t pid;

	*l = (struct stop_cost){
		.wake_ns = WAKE_GUESS_NS, .restart_ns = RESTART_GUESS_NS, .cpu_ns = CPU_GUESS_NS,
	};
	c.parent = getpid();
	atomic_store(&c.seized, false);
	pid = clone(child_main, c.stack + sizeof(c.stack), CLONE_VM | SIGCHLD, &c);
	if (pid < 0)
		return;
	separated = separate(pid, &mine);
	if (tracee_seize(pid) == 0) {
		atomic_store(&c.seized, true);
		measure(l, &c, pid);
	}
	if (separated) {
		(void)sched_setaffinity(0, sizeof(mine), &mine);
		/* it must run to die */
		(void)sched_setaffinity(pid, sizeof(mine), &mine);
	}
	kill(pid, SIGKILL);
	/* its SIGCHLD stays pending; no child will be found for it */
	(void)waitpid(pid, NULL, __WALL);
}

/* SPDX-License-Identifier: MIT */
/*
 * exits: a hot process that ends, or becomes another, in every way there is, while its threads are in the
 * middle of malloc and free.
 *
 *	exit, _exit, abort, crash	by the leader; status 7, 8, SIGABRT, SIGSEGV
 *	thread_exit			exit(9) by a thread that is not the leader
 *	leader				the leader alone ends; the others go on
 *	exec, thread_exec		this program again, by the leader or another
 *					thread; "ready PID" is printed again
 *	kill_thread			seccomp kills a new thread, and only that: {"joined_ms"} says how
 *					long it took until it was gone
 *	rate				{"pairs": so far}
 *	end				{"ended": true}, status 0
 */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "victim.h"

#define HOT 3

struct way {
	const char *name;
	bool leader;	/* the leader runs it, not the thread that reads orders */
	void (*go)(void);
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t told = PTHREAD_COND_INITIALIZER;
static const struct way *for_leader;
static _Atomic uint64_t pairs;

static void *hot(void *arg)
{
	uint64_t rng = 99 + (uint64_t)(uintptr_t)arg;

	for (;;) {
		if (!victim_malloc_free(&rng))
			victim_die("a damaged block");
		pairs++;
	}
	return NULL;
}

static void go_exit(void) { exit(7); }
static void go_exit_now(void) { _exit(8); }
static void go_thread_exit(void) { exit(9); }
static void go_leader(void) { pthread_exit(NULL); }

static void go_crash(void)
{
	void *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*(volatile char *)page = 1;
}

static void go_exec(void)
{
	char *const argv[] = { "exits", NULL };

	execv("/proc/self/exe", argv);
	victim_die("execv");
}

static void *killed(void *arg)
{
	static struct sock_filter kill_it[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_THREAD) };
	const struct sock_fprog filter = { 1, kill_it };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		victim_die("seccomp");
	syscall(SYS_getppid);
	victim_die("it lives");
	return arg;
}

static void go_kill_thread(void)
{
	struct timespec began, ended;
	pthread_t thread;

	clock_gettime(CLOCK_MONOTONIC, &began);
	if (pthread_create(&thread, NULL, killed, NULL) != 0 || pthread_join(thread, NULL) != 0)
		victim_die("a thread to be killed");
	clock_gettime(CLOCK_MONOTONIC, &ended);
	printf("{\"joined_ms\": %ld}\n",
	       (ended.tv_sec - began.tv_sec) * 1000 + (ended.tv_nsec - began.tv_nsec) / 1000000);
	fflush(stdout);
}

static void go_rate(void)
{
	printf("{\"pairs\": %llu}\n", (unsigned long long)pairs);
	fflush(stdout);
}

static void go_end(void)
{
	printf("{\"ended\": true}\n");
	fflush(stdout);
	_exit(0);
}

static const struct way ways[] = {
	{ "exit", true, go_exit },
	{ "_exit", true, go_exit_now },
	{ "abort", true, abort },
	{ "crash", true, go_crash },
	{ "leader", true, go_leader },
	{ "exec", true, go_exec },
	{ "thread_exit", false, go_thread_exit },
	{ "thread_exec", false, go_exec },
	{ "kill_thread", false, go_kill_thread },
	{ "rate", false, go_rate },
	{ "end", false, go_end },
};

static void obey(const struct way *way)
{
	if (!way->leader) {
		way->go();
		return;
	}
	pthread_mutex_lock(&lock);
	for_leader = way;
	pthread_cond_signal(&told);
	pthread_mutex_unlock(&lock);
}

static void *read_orders(void *arg)
{
	char line[ORDER_MAX];

	for (;;) {
		victim_order(line);
		for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
			if (strcmp(line, ways[i].name) == 0)
				obey(&ways[i]);
	}
	return arg;
}

int main(void)
{
	pthread_t thread;

	for (uintptr_t i = 0; i < HOT; i++)
		if (pthread_create(&thread, NULL, hot, (void *)i) != 0)
			victim_die("pthread_create");
	victim_ready();
	if (pthread_create(&thread, NULL, read_orders, NULL) != 0)
		victim_die("pthread_create");
	pthread_mutex_lock(&lock);
	while (!for_leader)
		pthread_cond_wait(&told, &lock);
	pthread_mutex_unlock(&lock);
	for_leader->go();
	return 0;
}

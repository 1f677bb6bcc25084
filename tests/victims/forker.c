/* SPDX-License-Identifier: MIT */
/*
 * forker MODE [THREADS]: a process that makes others without pause, and checks how each of them ended.
 *
 *	fork	the child allocates, then _exit(0)
 *	big	fork of a process with a large heap, which takes milliseconds
 *	vfork	vfork, exec of true
 *	spawn	posix_spawn of true
 *	system	system("true")
 *	exec	a thread of a forked child executes true
 *	shared	clone with shared memory, not a thread: the child allocates
 *	thread	threads start, allocate and end
 *
 * THREADS (4) do so, and two more malloc and free all the time. The order "end" gives {"made", "killed": died
 * of a signal, "signal": the last one, "wrong": other bad ends, "damaged"}; "made" gives {"made": so far}.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "victim.h"

#define MAX_THREADS 64
#define HOT 2
#define CHILD_PAIRS 20
#define CHILD_STACK (64 << 10)
#define BIG_BLOCKS 200000

extern char **environ;

struct worker {
	pthread_t thread;
	uint64_t rng;
	char *stack;	/* of a child that shares our memory */
};

struct mode {
	const char *name;
	void (*make)(struct worker *w);
};

static struct worker workers[MAX_THREADS + HOT];
static const struct mode *mode;
static atomic_bool ending;
static _Atomic uint64_t made, killed, wrong, damaged;
static atomic_int last_signal;
static char *const true_argv[] = { "true", NULL };

static void child_allocates(uint64_t rng)
{
	for (int i = 0; i < CHILD_PAIRS; i++)
		if (!victim_malloc_free(&rng))
			_exit(9);
}

static void judge(int status)
{
	made++;
	if (WIFSIGNALED(status)) {
		killed++;
		last_signal = WTERMSIG(status);
	} else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		wrong++;
	}
}

static void reap(pid_t pid)
{
	int status;

	if (pid < 0)
		victim_die("making a child");
	while (waitpid(pid, &status, __WALL) < 0)
		if (errno != EINTR)
			victim_die("waitpid");
	judge(status);
}

static void make_fork(struct worker *w)
{
	pid_t pid = fork();

	if (pid == 0) {
		child_allocates(w->rng);
		_exit(0);
	}
	reap(pid);
}

static void make_vfork(struct worker *w)
{
	pid_t pid = vfork();

	(void)w;
	if (pid == 0) {
		execv("/bin/true", true_argv);
		_exit(127);
	}
	reap(pid);
}

static void make_spawn(struct worker *w)
{
	pid_t pid;

	(void)w;
	errno = posix_spawn(&pid, "/bin/true", NULL, NULL, true_argv, environ);
	if (errno)
		victim_die("posix_spawn");
	reap(pid);
}

static void make_system(struct worker *w)
{
	(void)w;
	judge(system("true"));
}

static void *exec_true(void *arg)
{
	execv("/bin/true", true_argv);
	_exit(127);
	return arg;
}

static void make_exec(struct worker *w)
{
	pid_t pid = fork();
	pthread_t thread;

	if (pid == 0) {
		child_allocates(w->rng);
		if (pthread_create(&thread, NULL, exec_true, NULL) != 0)
			_exit(8);
		for (;;)
			child_allocates(w->rng);
	}
	reap(pid);
}

/* The child runs on this thread's data, so the thread does nothing else until the child has ended. */
static int shared_child(void *arg)
{
	struct worker *w = arg;

	child_allocates(w->rng);
	return 0;
}

static void make_shared(struct worker *w)
{
	reap(clone(shared_child, w->stack + CHILD_STACK, CLONE_VM | CLONE_FS | CLONE_FILES | SIGCHLD, w));
}

static void *short_life(void *arg)
{
	struct worker *w = arg;
	uint64_t rng = w->rng;

	damaged += !victim_malloc_free(&rng);
	return NULL;
}

static void make_thread(struct worker *w)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, short_life, w) != 0)
		victim_die("pthread_create");
	pthread_join(thread, NULL);
	made++;
}

static const struct mode modes[] = {
	{ "fork", make_fork },	   { "big", make_fork },      { "vfork", make_vfork },
	{ "spawn", make_spawn },   { "system", make_system }, { "exec", make_exec },
	{ "shared", make_shared }, { "thread", make_thread },
};

static void *maker(void *arg)
{
	struct worker *w = arg;

	while (!ending) {
		mode->make(w);
		damaged += !victim_malloc_free(&w->rng);
	}
	return NULL;
}

static void *hot(void *arg)
{
	struct worker *w = arg;

	while (!ending)
		damaged += !victim_malloc_free(&w->rng);
	return NULL;
}

static void start(struct worker *w, void *(*run)(void *))
{
	w->rng = 2463534242u + (uint64_t)(w - workers);
	w->stack = mmap(NULL, CHILD_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (w->stack == MAP_FAILED || pthread_create(&w->thread, NULL, run, w) != 0)
		victim_die("starting a thread");
}

/* Page tables to copy are what makes a fork slow. */
static void grow(void)
{
	for (int i = 0; i < BIG_BLOCKS; i++) {
		char *p = malloc(1000);

		if (!p)
			victim_die("malloc");
		escape(p);
		*p = 1;
	}
}

static void print_end(void)
{
	printf("{\"made\": %llu, \"killed\": %llu, \"signal\": %d, \"wrong\": %llu, \"damaged\": %llu}\n",
	       (unsigned long long)made, (unsigned long long)killed, last_signal, (unsigned long long)wrong,
	       (unsigned long long)damaged);
}

int main(int argc, char **argv)
{
	unsigned n = argc > 2 ? (unsigned)atoi(argv[2]) : 4;
	char line[ORDER_MAX];

	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(*modes); i++)
		if (strcmp(argv[1], modes[i].name) == 0)
			mode = &modes[i];
	if (!mode || n > MAX_THREADS)
		return 2;
	if (strcmp(mode->name, "big") == 0)
		grow();
	for (unsigned i = 0; i < n + HOT; i++)
		start(&workers[i], i < n ? maker : hot);
	victim_ready();
	while (strcmp(victim_order(line), "end") != 0) {
		printf("{\"made\": %llu}\n", (unsigned long long)made);
		fflush(stdout);
	}
	ending = true;
	for (unsigned i = 0; i < n + HOT; i++)
		pthread_join(workers[i].thread, NULL);
	print_end();
	return 0;
}

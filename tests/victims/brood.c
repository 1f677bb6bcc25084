/* SPDX-License-Identifier: MIT */
/*
 * brood: a process with children that allocate, and exact counts of what itself allocates.
 *
 *	fork N		N children by fork, one after the other; each allocates, and ends
 *	vfork N		N children by vfork, which execute true
 *	spawn N		the same by posix_spawn
 *	handed N	N children by vfork, of which each allocates a block that this process frees
 *	beside N	the same by clone with CLONE_VM: the child lives on until the block is freed
 *	thread N	N threads; each allocates, and ends
 *	stay N		N children that allocate without pause until "go"
 *	pairs		{"pairs": of each child that stays, so far}
 *	go		those children end
 *	end
 *
 * Answer: {"allocs": calls of malloc in this process, "bad": children that did not end well, "damaged", "children":
 * those that stay}. The process allocates once for each child that it makes. All blocks are freed.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "victim.h"

#define MOST_STAY 32
#define CHILD_PAIRS 20

extern char **environ;

struct stays {
	atomic_bool go;
	_Atomic uint64_t pairs[MOST_STAY];
};

static struct stays *stays;	/* shared with the children */
static pid_t children[MOST_STAY];
static unsigned nchildren;
static unsigned long allocs, bad, damaged;
static uint64_t rng = 2463534242u;
static char *const true_argv[] = { "true", NULL };

static bool pairs(unsigned n)
{
	bool ok = true;

	for (unsigned i = 0; i < n; i++)
		ok &= victim_malloc_free(&rng);
	return ok;
}

static void reap(pid_t pid)
{
	int status = 0;

	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		victim_die("child");
	bad += status != 0;
}

static void make_fork(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(pairs(CHILD_PAIRS) ? 0 : 9);
	reap(pid);
}

static void make_vfork(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		execv("/bin/true", true_argv);
		_exit(127);
	}
	reap(pid);
}

static void make_spawn(void)
{
	pid_t pid;

	errno = posix_spawn(&pid, "/bin/true", NULL, NULL, true_argv, environ);
	if (errno)
		victim_die("posix_spawn");
	reap(pid);
}

#define HANDED 5000

/* A child's blocks get the address of this one, which is freed. */
static void leave_address(void)
{
	void *volatile p = malloc(HANDED);

	free(p);
	allocs++;
}

static void *volatile handed;

static void make_handed(void)
{
	pid_t pid;

	leave_address();
	pid = vfork();
	if (pid == 0) {
		handed = malloc(HANDED);
		execv("/bin/true", true_argv);
		_exit(127);
	}
	reap(pid);
	free(handed);
}

static atomic_bool may_end;

/* It has the thread's own data of its parent, which waits. */
static int live_beside(void *arg)
{
	handed = malloc(HANDED);
	while (!may_end)
		sched_yield();
	return arg != NULL;
}

static void make_beside(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	pid_t pid;

	leave_address();
	handed = NULL;
	may_end = false;
	pid = clone(live_beside, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);
	while (pid > 0 && !handed)
		sched_yield();
	free(handed);
	leave_address();
	may_end = true;
	reap(pid);
}

/* One at a time, while this thread waits. */
static void *short_life(void *arg)
{
	damaged += !pairs(CHILD_PAIRS);
	allocs += CHILD_PAIRS;
	return arg;
}

static void make_thread(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, short_life, NULL))
		victim_die("pthread_create");
	pthread_join(t, NULL);
}

static void stay(unsigned nth)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!stays->go) {
		if (!pairs(1))
			_exit(9);
		stays->pairs[nth]++;
	}
	_exit(0);
}

static void make_stay(void)
{
	pid_t pid;

	if (nchildren == MOST_STAY)
		victim_die("too many children");
	pid = fork();
	if (pid == 0)
		stay(nchildren);
	if (pid < 0)
		victim_die("fork");
	children[nchildren++] = pid;
}

static void go(void)
{
	stays->go = true;
	while (nchildren)
		reap(children[--nchildren]);
	stays->go = false;
}

static void print_pairs(void)
{
	printf("{\"pairs\": [");
	for (unsigned i = 0; i < nchildren; i++)
		printf("%s%llu", i ? ", " : "", (unsigned long long)stays->pairs[i]);
	printf("]}\n");
}

static const struct {
	const char *name;
	void (*make)(void);
} makers[] = {
	{ "fork", make_fork }, { "vfork", make_vfork }, { "spawn", make_spawn }, { "thread", make_thread },
	{ "handed", make_handed }, { "beside", make_beside }, { "stay", make_stay },
};

static void make(const char *name, unsigned n)
{
	for (size_t k = 0; k < sizeof(makers) / sizeof(*makers); k++)
		for (unsigned i = 0; i < n && strcmp(makers[k].name, name) == 0; i++) {
			damaged += !pairs(1);
			allocs++;
			makers[k].make();
		}
}

static void print_answer(void)
{
	printf("{\"allocs\": %lu, \"bad\": %lu, \"damaged\": %lu, \"children\": [", allocs, bad, damaged);
	for (unsigned i = 0; i < nchildren; i++)
		printf("%s%d", i ? ", " : "", (int)children[i]);
	printf("]}\n");
}

int main(void)
{
	char line[ORDER_MAX], order[16];
	unsigned n;

	stays = mmap(NULL, sizeof(*stays), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (stays == MAP_FAILED)
		victim_die("mmap");
	victim_ready();
	while (strcmp(victim_order(line), "end") != 0) {
		allocs = bad = damaged = n = 0;
		if (sscanf(line, "%15s %u", order, &n) == 2)
			make(order, n);
		else if (strcmp(line, "go") == 0)
			go();
		if (strcmp(line, "pairs") == 0)
			print_pairs();
		else
			print_answer();
		fflush(stdout);
	}
	go();
	puts("{}");
	return 0;
}

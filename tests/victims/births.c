/* SPDX-License-Identifier: MIT */
/*
 * births: children of fork that allocate at once, in their first microseconds.
 *
 *	chain D K F	a child, which allocates K blocks of BYTES and keeps them, allocates and frees K more,
 *			frees F that it has inherited, and only then has a child, which does the same: D of
 *			them; {"pids": [pid, ...]}. They stay until the end
 *	among T D K F	the same, while T threads of this process allocate and free all the time
 *	inside K	a child that is made inside of the function `inside`, and allocates K blocks there
 *			and K behind it; {"pids": [pid]}
 *	old		frees an inherited block; {}
 *	exec N		N children, one after the other, that execute this program again, which ends at
 *			once with 3; {"bad": those that did not, "each_us": how long one took}
 *	storm MS	for so long: children, up to LIVE at once, some of which allocate, have a child of
 *			their own, are made by another thread, execute or are killed;
 *			{"started": children, "bad": those that ended in another way than they should}
 *	later N MS	N children, which sleep for MS and only then allocate and free: {"bad": those that
 *			ended in another way}
 *	end		those of a chain end; {"bad": those that did not end well}
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "victim.h"

#define BYTES 1000
#define INHERITED 64
#define MOST 64
#define LIVE 6
#define LATER 2000
#define LEAF 3

static void *inherited[INHERITED];
static unsigned ninherited;
static pid_t *pids;		/* shared with all */
static atomic_uint *npids;
static int stay[2];		/* closed by the master at the end */
static atomic_bool quiet;

static void work(unsigned k, unsigned frees)
{
	for (unsigned i = 0; i < k; i++) {
		void *p = malloc(BYTES);

		escape(p);
	}
	for (unsigned i = 0; i < k; i++) {
		void *p = malloc(BYTES);

		escape(p);
		free(p);
	}
	for (unsigned i = 0; i < frees && ninherited; i++)
		free(inherited[--ninherited]);
}

/* --- a chain --- */

/* In a child, until the end: its own child's status is part of its own. */
_Noreturn static void stay_until_end(pid_t child)
{
	char c;
	int status = 0;

	close(stay[1]);
	(void)!read(stay[0], &c, 1);
	if (child && (waitpid(child, &status, 0) != child || status))
		_exit(1);
	_exit(0);
}

static void link_of_chain(unsigned d, unsigned k, unsigned frees)
{
	pid_t child = 0;

	work(k, frees);
	if (d > 1) {
		child = fork();
		if (child == 0)
			link_of_chain(d - 1, k, frees);
	}
	pids[d - 1] = getpid();
	atomic_fetch_add(npids, 1);
	stay_until_end(child);
}

static pid_t last;

static void chain(unsigned d, unsigned k, unsigned frees)
{
	atomic_store(npids, 0);
	last = fork();
	if (last == 0)
		link_of_chain(d, k, frees);
	while (atomic_load(npids) < d)
		usleep(200);
	printf("{\"pids\": [");
	for (unsigned i = 0; i < d; i++)
		printf("%s%d", i ? ", " : "", (int)pids[i]);
	printf("]}\n");
}

static void *churn(void *arg)
{
	uint64_t rng = 7;

	(void)arg;
	while (!atomic_load(&quiet))
		victim_malloc_free(&rng);
	return NULL;
}

static void among(unsigned threads, unsigned d, unsigned k, unsigned frees)
{
	pthread_t t[8];

	atomic_store(&quiet, false);
	threads = threads < 8 ? threads : 8;
	for (unsigned i = 0; i < threads; i++)
		if (pthread_create(&t[i], NULL, churn, NULL))
			victim_die("thread");
	usleep(20000);
	chain(d, k, frees);
	atomic_store(&quiet, true);
	for (unsigned i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
}

static unsigned end(void)
{
	int status = 0;

	close(stay[1]);
	return last && (waitpid(last, &status, 0) != last || status);
}

/* --- inside of a function --- */

__attribute__((noinline)) static pid_t inside(unsigned k)
{
	const pid_t pid = fork();

	if (pid == 0)
		work(k, 0);
	return pid;
}

static void fork_inside(unsigned k)
{
	last = inside(k);
	if (last == 0) {
		work(k, 0);
		atomic_fetch_add(npids, 1);
		stay_until_end(0);
	}
	while (!atomic_load(npids))
		usleep(200);
	printf("{\"pids\": [%d]}\n", (int)last);
}

/* --- exec --- */

static unsigned ended_badly(pid_t pid, int expected)
{
	int status;

	return waitpid(pid, &status, 0) != pid || status != expected;
}

_Noreturn static void execute(void)
{
	execl("/proc/self/exe", "births", "leaf", (char *)NULL);
	_exit(9);
}

static void exec_many(unsigned n)
{
	const uint64_t began = now_ns();
	unsigned bad = 0;

	for (unsigned i = 0; i < n; i++) {
		const pid_t pid = fork();

		if (pid == 0)
			execute();
		bad += ended_badly(pid, LEAF << 8);
	}
	printf("{\"bad\": %u, \"each_us\": %.0f}\n", bad, (double)(now_ns() - began) / 1e3 / n);
}

/* --- a storm --- */

_Noreturn static void stormy(unsigned what, uint64_t rng)
{
	void *p = malloc(100 + rng % 5000);

	escape(p);
	work((unsigned)(rng >> 8) % 20, (unsigned)(rng >> 16) % 3);
	switch (what % 5) {
	case 0: {
		const pid_t grandchild = fork();

		work(5, 1);
		if (grandchild == 0)
			_exit(4);
		_exit(ended_badly(grandchild, 4 << 8) ? 1 : LEAF);
	}
	case 1:
		execute();
	case 2:
		usleep((useconds_t)(rng % 4000));
		_exit(LEAF);
	case 3:
		for (;;)
			work(10, 0);	/* until it is killed */
	default:
		_exit(LEAF);
	}
}

static void *fork_elsewhere(void *arg)
{
	const uint64_t *rng = arg;
	const pid_t pid = fork();

	if (pid == 0)
		stormy((unsigned)(*rng >> 20), *rng);
	return (void *)(intptr_t)pid;
}

static pid_t start_stormy(uint64_t *rng)
{
	pthread_t t;
	void *pid;

	if (*rng >> 40 & 1)
		return (pid_t)(intptr_t)fork_elsewhere(rng);
	if (pthread_create(&t, NULL, fork_elsewhere, rng) || pthread_join(t, &pid))
		victim_die("thread");
	return (pid_t)(intptr_t)pid;
}

static unsigned end_stormy(pid_t pid, unsigned what)
{
	if (what % 5 != 3)
		return ended_badly(pid, LEAF << 8);
	kill(pid, SIGKILL);
	return ended_badly(pid, SIGKILL);
}

static void storm(unsigned ms)
{
	const uint64_t until = now_ns() + ms * 1000000ull;
	struct {
		pid_t pid;
		unsigned what;
	} live[LIVE] = { 0 };
	uint64_t rng = 88172645463325252ull ^ now_ns();
	unsigned started = 0, bad = 0;

	while (now_ns() < until) {
		const unsigned i = started % LIVE;

		if (live[i].pid)
			bad += end_stormy(live[i].pid, live[i].what);
		victim_random(&rng);
		live[i].what = (unsigned)(rng >> 20);
		live[i].pid = start_stormy(&rng);
		started++;
	}
	for (unsigned i = 0; i < LIVE; i++)
		if (live[i].pid)
			bad += end_stormy(live[i].pid, live[i].what);
	printf("{\"started\": %u, \"bad\": %u}\n", started, bad);
}

/* --- later --- */

static void sleep_ms(unsigned ms)
{
	struct timespec left = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&left, &left) < 0)
		;
}

static void later(unsigned n, unsigned ms)
{
	pid_t started[LATER];
	unsigned bad = 0;

	for (unsigned i = 0; i < n; i++) {
		started[i] = fork();
		if (started[i])
			continue;
		sleep_ms(ms);
		work(5, 1);
		_exit(LEAF);
	}
	for (unsigned i = 0; i < n; i++)
		bad += ended_badly(started[i], LEAF << 8);
	printf("{\"bad\": %u}\n", bad);
}

/* --- orders --- */

static void serve(const char *order)
{
	unsigned a = 0, b = 0, c = 0, d = 0;

	if (sscanf(order, "chain %u %u %u", &a, &b, &c) == 3)
		chain(a < MOST ? a : MOST, b, c);
	else if (sscanf(order, "among %u %u %u %u", &a, &b, &c, &d) == 4)
		among(a, b < MOST ? b : MOST, c, d);
	else if (sscanf(order, "inside %u", &a) == 1)
		fork_inside(a);
	else if (sscanf(order, "exec %u", &a) == 1)
		exec_many(a);
	else if (sscanf(order, "storm %u", &a) == 1)
		storm(a);
	else if (sscanf(order, "later %u %u", &a, &b) == 2)
		later(a < LATER ? a : LATER, b);
	else if (!strcmp(order, "old")) {
		free(inherited[--ninherited]);
		puts("{}");
	}
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char line[ORDER_MAX];
	const char *order;

	(void)argv;
	if (argc == 2)
		return LEAF;
	pids = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (pids == MAP_FAILED || pipe(stay) < 0)
		victim_die("births");
	npids = (atomic_uint *)(pids + 1024);
	for (unsigned i = 0; i < INHERITED; i++)
		inherited[ninherited++] = malloc(BYTES);
	victim_ready();
	while (strcmp(order = victim_order(line), "end") != 0)
		serve(order);
	printf("{\"bad\": %u}\n", end());
	fflush(stdout);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * beside MODE [CHILDREN]: memory that grows where a watch of malloc does not see it.
 *
 *	maps		64 KiB are mapped and written, and 100 bytes are allocated, a hundred times a second
 *	old		blocks from before the watch are written for the first time, 64 KiB a hundred times a
 *			second
 *	peaks		a thread allocates more and more, 320 KiB a hundred times a second, and frees nearly
 *			all of it again
 *	children N	N children allocate, the first 10 kB a hundred times a second, the second twice as
 *			much, ...; the parent sleeps
 *	both N		the same, and the parent allocates 100 kB a hundred times a second
 *	churn N		N children for ever, as above; and another child each 50 ms, which leaks 5 MB a second
 *			and ends after a second and a half
 *	flashes N	the same, but those children end after 0.2 s
 *	crowd N		a thread has a child, as above, and N others sleep
 *	still		nothing happens
 */
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "victim.h"

#define STEP 65536u
#define STEPS 6000u
#define EVER UINT_MAX

static void nap(void)
{
	usleep(10000);
}

static void *keep(size_t n)
{
	char *p = malloc(n);

	if (!p)
		victim_die("malloc");
	memset(p, 1, n);
	escape(p);
	return p;
}

static void map_for_ever(void)
{
	for (;;) {
		char *p = mmap(NULL, STEP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED)
			victim_die("mmap");
		memset(p, 1, STEP);
		keep(100);
		nap();
	}
}

static void write_old(char *old)
{
	for (unsigned i = 0; i < STEPS; i++) {
		memset(old + (size_t)i * STEP, 1, STEP);
		nap();
	}
}

/* The last block of each round is not freed, so that the heap cannot shrink. */
static void *peak(void *arg)
{
	for (size_t n = 512;; n += 512) {
		char **held = keep(n * sizeof(*held));

		for (size_t i = 0; i < n; i++) {
			held[i] = keep(3000);
			if (i % 110 == 0)
				nap();
		}
		for (size_t i = 0; i + 1 < n; i++)
			free(held[i]);
		free(held);
	}
	return arg;
}

static void child(size_t size, unsigned times)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (unsigned i = 0; i != times; i++) {
		keep(size);
		nap();
	}
	_exit(0);
}

static void *sleeps(void *arg)
{
	pause();
	return arg;
}

/* Ends with the thread that made it, which is not the first one. */
static void *parent(void *arg)
{
	const pid_t pid = fork();

	if (pid < 0)
		victim_die("fork");
	if (pid == 0)
		child(10000, EVER);
	return sleeps(arg);
}

static void crowd(int n)
{
	pthread_attr_t small;
	pthread_t thread;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (int i = 0; i <= n; i++)
		if (pthread_create(&thread, &small, i ? sleeps : parent, NULL))
			victim_die("pthread_create");
}

static void churn(unsigned times)
{
	signal(SIGCHLD, SIG_IGN);
	for (unsigned i = 0;; i++) {
		const pid_t pid = fork();

		if (pid < 0)
			victim_die("fork");
		if (pid == 0)
			child(50000, times);
		usleep(50000);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "still";
	const int n = argc > 2 ? atoi(argv[2]) : 0;
	char line[ORDER_MAX], *old = NULL;
	pthread_t thread;

	if (strcmp(mode, "crowd") == 0)
		crowd(n);
	for (int i = 0; i < n && strcmp(mode, "crowd") != 0; i++) {
		const pid_t pid = fork();

		if (pid < 0)
			victim_die("fork");
		if (pid == 0)
			child(10000u * (unsigned)(i + 1), EVER);
	}
	if (strcmp(mode, "old") == 0)
		old = malloc((size_t)STEPS * STEP);
	victim_ready();
	if (strcmp(mode, "peaks") == 0 && pthread_create(&thread, NULL, peak, NULL))
		victim_die("pthread_create");
	if (strcmp(mode, "maps") == 0)
		map_for_ever();
	if (old)
		write_old(old);
	if (strcmp(mode, "churn") == 0)
		churn(150);
	if (strcmp(mode, "flashes") == 0)
		churn(20);
	while (strcmp(mode, "both") == 0) {
		keep(100000);
		nap();
	}
	victim_order(line);
	puts("{}");
	return 0;
}

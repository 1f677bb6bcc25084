/* SPDX-License-Identifier: MIT */
/*
 * left_tcaches MODE: a tcache of malloc is left behind by a thread that did not end in the usual way.
 *
 *	child		a child of fork, which has no other thread than main; "ready" is the child's
 *	leader		the main thread has ended by its system call alone, with freed blocks in its tcache
 *	thread		another thread has ended so; its tcache is empty
 *
 * Each thread has one block, of 100 bytes; main has freed one of 40 bytes in "leader".
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "victim.h"

static pthread_barrier_t allocated;

static void *other(void *ends)
{
	char *volatile mine = malloc(100);

	pthread_barrier_wait(&allocated);
	if (ends)
		syscall(SYS_exit, 0);
	for (;;)
		pause();
	return mine;
}

static void wait_orders(void)
{
	char line[ORDER_MAX];

	victim_ready();
	while (strcmp(victim_order(line), "end") != 0)
		;
	_exit(0);
}

static void *waits(void *arg)
{
	pthread_barrier_wait(&allocated);
	wait_orders();
	return arg;
}

static void start(void *(*run)(void *), void *arg)
{
	pthread_t t;

	if (pthread_create(&t, NULL, run, arg))
		victim_die("pthread_create");
}

static void begin(unsigned n)
{
	pthread_barrier_init(&allocated, NULL, n);
}

static void leader(void)
{
	free(malloc(40));
	begin(3);
	start(other, NULL);
	start(waits, NULL);
	pthread_barrier_wait(&allocated);
	syscall(SYS_exit, 0);
}

static void thread(void)
{
	begin(2);
	start(other, (void *)1);
	pthread_barrier_wait(&allocated);
	wait_orders();
}

static void child(void)
{
	begin(2);
	start(other, NULL);
	pthread_barrier_wait(&allocated);
	if (fork() == 0)
		wait_orders();
	wait(NULL);
	_exit(0);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (!strcmp(mode, "leader"))
		leader();
	else if (!strcmp(mode, "thread"))
		thread();
	else
		child();
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * threads_unjoined: starts threads in every usual way and forgets to join some.
 *
 * The order "go N" starts, N times each: two that are joined (one of them by another thread than started it),
 * one that is detached by another thread, one created detached, and one that is neither joined nor detached.
 * "hasty N" starts N threads that detach themselves, maybe before pthread_create has returned. Either prints
 * {"forget": how many were forgotten} when all have ended.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "victim.h"

static atomic_ulong running;

static void *work(void *arg)
{
	if (arg)
		pthread_detach(pthread_self());
	running--;
	return NULL;
}

static pthread_t begin(const pthread_attr_t *attr, void *arg)
{
	pthread_t thread;

	running++;
	errno = pthread_create(&thread, attr, work, arg);
	if (errno)
		victim_die("pthread_create");
	return thread;
}

static void *join_it(void *thread)
{
	pthread_join(*(pthread_t *)thread, NULL);
	running--;
	return NULL;
}

__attribute__((noinline, noclone)) static void forget(void)
{
	pthread_t thread;

	running++;
	if (pthread_create(&thread, NULL, work, NULL) != 0)
		victim_die("pthread_create");
}

static void join_elsewhere(void)
{
	pthread_t thread = begin(NULL, NULL), joiner;

	running++;
	if (pthread_create(&joiner, NULL, join_it, &thread) != 0)
		victim_die("pthread_create");
	pthread_join(joiner, NULL);
}

static void begin_detached(void)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	begin(&attr, NULL);
	pthread_attr_destroy(&attr);
}

static unsigned long go(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) {
		pthread_join(begin(NULL, NULL), NULL);
		join_elsewhere();
		pthread_detach(begin(NULL, NULL));
		begin_detached();
		forget();
	}
	return n;
}

static unsigned long hasty(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		begin(NULL, &running);
	return 0;
}

static void tell(unsigned long forgotten)
{
	while (running)
		usleep(100);
	printf("{\"forget\": %lu}\n", forgotten);
	fflush(stdout);
}

int main(void)
{
	char line[ORDER_MAX];
	unsigned long n, forgotten = 0;

	victim_ready();
	while (strcmp(victim_order(line), "end") != 0) {
		if (sscanf(line, "go %lu", &n) == 1)
			tell(forgotten += go(n));
		else if (sscanf(line, "hasty %lu", &n) == 1)
			tell(forgotten += hasty(n));
	}
	printf("{\"ended\": true}\n");
	return 0;
}

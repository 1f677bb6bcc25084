/* SPDX-License-Identifier: MIT */
/*
 * block_pool THREADS: a pool of blocks in each of THREADS threads, which has what is asked for nine times of ten,
 * and else calls malloc. Three functions use it, as often as they can.
 *
 *	end	a normal end
 */
#include <pthread.h>
#include <stdatomic.h>

#include "victim.h"

#define KEPT 64u
#define SIZE 80u

static _Thread_local void *kept[KEPT];
static _Thread_local unsigned nkept;
static _Thread_local uint64_t rng;
static atomic_bool ending;

__attribute__((noinline)) static void *pool_get(void)
{
	unsigned char *p;

	if (nkept && victim_random(&rng) % 10)
		return kept[--nkept];
	p = malloc(SIZE);
	if (!p)
		victim_die("malloc");
	*p = 1;
	escape(p);
	return p;
}

static void pool_put(void *p)
{
	if (nkept < KEPT)
		kept[nkept++] = p;
	else
		free(p);
}

__attribute__((noinline)) static void one(void)
{
	void *p = pool_get();

	escape(p);
	pool_put(p);
}

__attribute__((noinline)) static void two(void)
{
	void *p = pool_get(), *q = pool_get();

	escape(p);
	escape(q);
	pool_put(p);
	pool_put(q);
}

__attribute__((noinline)) static void three(void)
{
	void *p = pool_get();

	escape(p);
	pool_put(p);
}

static void *work(void *arg)
{
	static void (*const users[])(void) = { one, one, two, three };

	rng = 88172645463325252u + (uintptr_t)arg;
	while (!atomic_load(&ending)) {
		for (unsigned i = 0; i < 1000; i++)
			users[victim_random(&rng) % (sizeof(users) / sizeof(*users))]();
		usleep(100);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const uintptr_t n = argc > 1 ? (uintptr_t)atoi(argv[1]) : 1;
	pthread_t threads[64];
	char line[ORDER_MAX];

	for (uintptr_t i = 0; i < n && i < 64; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)i))
			victim_die("pthread_create");
	victim_ready();
	while (strcmp(victim_order(line), "end") != 0)
		;
	atomic_store(&ending, true);
	for (uintptr_t i = 0; i < n && i < 64; i++)
		pthread_join(threads[i], NULL);
	puts("{}");
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * leak_fast: two functions that only return what malloc gave them, each called from one place. The blocks of one
 * leak; those of the other are freed at once. Orders: "end".
 */
#include <pthread.h>
#include <stdatomic.h>

#include "victim.h"

#define NOINLINE __attribute__((noinline))

static atomic_bool ending;
static void *volatile last;

NOINLINE void *leak_fast(void)
{
	void *p = malloc(1000);

	escape(p);
	return p;
}

NOINLINE void *short_lived(void)
{
	void *p = malloc(10);

	escape(p);
	return p;
}

static void *work(void *arg)
{
	while (!atomic_load(&ending)) {
		last = leak_fast();
		for (int i = 0; i < 10; i++)
			free(short_lived());
		usleep(1000);
	}
	return arg;
}

int main(void)
{
	pthread_t thread;
	char line[ORDER_MAX];

	if (pthread_create(&thread, NULL, work, NULL))
		victim_die("pthread_create");
	victim_ready();
	while (strcmp(victim_order(line), "end") != 0)
		;
	atomic_store(&ending, true);
	pthread_join(thread, NULL);
	puts("{}");
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * either: two wrappers of malloc, and a function that ends with a jump to one or the other. Blocks of the
 * first are freed at once; so are those of the second, which is not called before the order. A caller of the
 * function that jumps leaks: only it does, and always through the first.
 *
 *	second	call the second wrapper, too
 *	end	a normal end
 */
#include <pthread.h>
#include <stdatomic.h>

#include "victim.h"

#define NOINLINE __attribute__((noinline))

static atomic_bool ending, with_second;
static atomic_ulong kept;

NOINLINE static void *filled(void *p)
{
	if (!p)
		victim_die("malloc");
	*(uint64_t *)p = (uintptr_t)p;
	return p;
}

NOINLINE __attribute__((used)) static void *first_alloc(size_t n)
{
	void *p = malloc(n);

	return filled(p) == p ? p : NULL;
}

NOINLINE __attribute__((used)) static void *second_alloc(size_t n)
{
	void *p = malloc(n + 8);

	return filled(p) == p ? p : NULL;
}

__attribute__((naked)) static void *either_alloc(size_t n, bool second)
{
	(void)n;
	(void)second;
	__asm__("test %esi, %esi\n"
		"jz.d32 first_alloc\n"
		"jmp.d32 second_alloc\n");
}

#define BRIEF(name, wrapper, bytes) \
	NOINLINE static void name(void) \
	{ \
		void *p = wrapper(bytes); \
\
		escape(p); \
		free(p); \
	}

BRIEF(first_of_one, first_alloc, 40)
BRIEF(first_of_two, first_alloc, 56)
BRIEF(second_of_one, second_alloc, 72)
BRIEF(second_of_two, second_alloc, 88)

NOINLINE static void keep(void)
{
	void *p = either_alloc(24, false);

	escape(p);
	atomic_fetch_add(&kept, 1);
}

/* In no order: a trap in a wrapper is often planted while the thread sleeps, and sees the next call only. */
static void *work(void *arg)
{
	static void (*const calls[])(void) = { keep, keep, first_of_one, first_of_two, second_of_one, second_of_two };
	uint64_t rng = 88172645463325252u;

	(void)arg;
	while (!atomic_load(&ending)) {
		for (unsigned i = 0; i < 8; i++)
			calls[victim_random(&rng) % (atomic_load(&with_second) ? 6 : 4)]();
		usleep(2000);
	}
	return NULL;
}

int main(void)
{
	pthread_t thread;
	char line[ORDER_MAX];

	if (pthread_create(&thread, NULL, work, NULL))
		victim_die("pthread_create");
	victim_ready();
	while (strcmp(victim_order(line), "end") != 0) {
		atomic_store(&with_second, with_second || strcmp(line, "second") == 0);
		printf("{\"kept\": %lu}\n", atomic_load(&kept));
		fflush(stdout);
	}
	atomic_store(&ending, true);
	pthread_join(thread, NULL);
	puts("{}");
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * wrappers [RATE]: a service with 24 wrappers of malloc, each called from three places: RATE pairs a second
 * (20000) in all.
 *
 *	pairs	{"pairs": so far}
 *	end	the same, and a normal end
 */
#include <pthread.h>
#include <stdatomic.h>

#include "victim.h"

#define TICK_NS 1000000u

/* It writes into the block, so it is a call of malloc and not a jump. */
#define WRAPPER(n) \
	__attribute__((noinline)) static void *wrap_##n(size_t size) \
	{ \
		unsigned char *p = malloc(size + n); \
	\
		if (!p) \
			victim_die("malloc"); \
		*p = n; \
		escape(p); \
		return p; \
	} \
	__attribute__((noinline)) static void one_##n(void) { void *p = wrap_##n(24); escape(p); free(p); } \
	__attribute__((noinline)) static void two_##n(void) { void *p = wrap_##n(48); escape(p); free(p); } \
	__attribute__((noinline)) static void three_##n(void) { void *p = wrap_##n(72); escape(p); free(p); }
#define ALL(X)                                                                                               \
	X(1)                                                                                                 \
	X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19)  \
		X(20) X(21) X(22) X(23) X(24)
ALL(WRAPPER)

#define PLACES(n) one_##n, two_##n, three_##n,
static void (*const places[])(void) = { ALL(PLACES) };

static atomic_bool ending;
static _Atomic uint64_t pairs;

static void *work(void *arg)
{
	const unsigned a_tick = *(const unsigned *)arg;
	uint64_t rng = 88172645463325252u, next = now_ns();

	while (!atomic_load(&ending)) {
		for (unsigned i = 0; i < a_tick; i++)
			places[victim_random(&rng) % (sizeof(places) / sizeof(*places))]();
		atomic_fetch_add(&pairs, a_tick);
		next += TICK_NS;
		while (now_ns() < next)
			usleep(100);
	}
	return NULL;
}

static void tell(void)
{
	printf("{\"pairs\": %llu}\n", (unsigned long long)atomic_load(&pairs));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	unsigned rate = argc > 1 ? (unsigned)atoi(argv[1]) : 20000, a_tick = rate / 1000 ? rate / 1000 : 1;
	pthread_t worker;
	char line[ORDER_MAX];

	errno = pthread_create(&worker, NULL, work, &a_tick);
	if (errno)
		victim_die("pthread_create");
	victim_ready();
	while (strcmp(victim_order(line), "end") != 0)
		tell();
	ending = true;
	pthread_join(worker, NULL);
	tell();
	return 0;
}

// SPDX-License-Identifier: MIT
// throws: a thread allocates and frees by all of malloc's relatives, and another one asks operator new for more than
// there is: each time it must get its std::bad_alloc.
//
//	below N		operator new throws, and below where that is caught N blocks of 100 are allocated
//	end		{"caught": exceptions, "asked": how often}
#include <atomic>
#include <new>
#include <pthread.h>

extern "C" {
#include "victim.h"
}

static std::atomic<bool> over;
static unsigned long asked, caught;

static void *asks(void *arg)
{
	const struct timespec ms = { 0, 1000000 };

	while (!over) {
		asked++;
		try {
			void *p = operator new(1ul << 62);

			escape(p);
		} catch (const std::bad_alloc &) {
			caught++;
		}
		nanosleep(&ms, nullptr);
	}
	return arg;
}

static void *allocates(void *arg)
{
	while (!over) {
		void *aligned = nullptr, *p = calloc(3, 100);

		p = realloc(p, 5000);
		escape(p);
		free(p);
		p = malloc(1ul << 62);
		escape(p);
		if (posix_memalign(&aligned, 64, 100) == 0)
			free(aligned);
		free(aligned_alloc(64, 128));
		delete new int;
		usleep(500);
	}
	return arg;
}

__attribute__((noinline)) static void leak(unsigned long n)
{
	volatile char frame[256];

	for (frame[0] = 1; n; n--) {
		char *p = new char[100];

		escape(p);
	}
}

__attribute__((noinline)) static void below_a_throw(unsigned long n)
{
	try {
		void *p = operator new(1ul << 62);

		escape(p);
	} catch (const std::bad_alloc &) {
	}
	leak(n);
}

int main()
{
	pthread_t threads[2];
	char line[ORDER_MAX];

	pthread_create(&threads[0], nullptr, asks, nullptr);
	pthread_create(&threads[1], nullptr, allocates, nullptr);
	victim_ready();
	for (;;) {
		const char *order = victim_order(line);

		if (strncmp(order, "below ", 6))
			break;
		below_a_throw(strtoul(order + 6, nullptr, 10));
		printf("{}\n");
		fflush(stdout);
	}
	over = true;
	pthread_join(threads[0], nullptr);
	pthread_join(threads[1], nullptr);
	printf("{\"caught\": %lu, \"asked\": %lu}\n", caught, asked);
	return 0;
}

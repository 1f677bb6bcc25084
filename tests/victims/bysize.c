/* SPDX-License-Identifier: MIT */
/*
 * bysize: what a sample by bytes estimates: blocks of known sizes that leak, each at a site of its own, and blocks
 * that come and go meanwhile.
 *
 *	leak N		N turns: each leaks 20 blocks of 24 bytes, one of 4,000, one that realloc made 3,000 from 10,
 *			one of posix_memalign of 2,000; each fiftieth turn one of 700,000; and other blocks are
 *			allocated, resized and freed
 *	grow N		N times: a block that realloc makes larger and smaller, and that is freed at the end
 *	share N		N blocks of 1,000 by each of 4 threads; every other one is freed
 *	things N	N things of which no argument has the size; every other one is dropped
 *	maps N		N mappings that are made smaller, and unmapped
 *	end
 *	answer: {"site": [blocks, bytes], ...} of what has leaked by now
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>

#include "victim.h"

#define SITE __attribute__((noinline, noclone))
#define THREADS 4

static uint64_t smalls, pages, resized, aligned, larges, shared;

SITE static void leak_small(void)
{
	void *p = malloc(24);

	escape(p);
	smalls++;
}

SITE static void leak_page(void)
{
	void *p = malloc(4000);

	escape(p);
	pages++;
}

SITE static void leak_resized(void)
{
	void *p = malloc(10);

	p = realloc(p, 1000);
	p = realloc(p, 3000);
	escape(p);
	resized++;
}

SITE static void leak_aligned(void)
{
	void *p;

	if (posix_memalign(&p, 256, 2000))
		victim_die("posix_memalign");
	escape(p);
	aligned++;
}

SITE static void leak_large(void)
{
	void *p = calloc(7, 100000);

	escape(p);
	larges++;
}

SITE static void come_and_go(void)
{
	void *p = malloc(5000);

	p = realloc(p, 9000);
	escape(p);
	free(p);
	p = calloc(10, 100);
	escape(p);
	free(p);
	p = realloc(NULL, 20000);
	escape(p);
	p = realloc(p, 0);
	escape(p);
	p = malloc(0);
	escape(p);
	free(p);
}

static void leak(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) {
		for (int k = 0; k < 20; k++)
			leak_small();
		leak_page();
		leak_resized();
		leak_aligned();
		if (i % 50 == 0)
			leak_large();
		for (int k = 0; k < 5; k++)
			come_and_go();
	}
}

static void grow(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) {
		void *p = NULL;

		for (size_t size = 100; size < 200000; size = size * 7 / 3) {
			p = realloc(p, size);
			escape(p);
			if (i % 3 == 0)
				p = realloc(p, size / 2 + 1);
			escape(p);
			/* fails, and leaves the block as it is */
			void *none = realloc(p, PTRDIFF_MAX - 100);

			escape(none);
		}
		free(p);
	}
}

SITE static void *leak_shared(void *arg)
{
	const unsigned long n = *(unsigned long *)arg;
	void *before = NULL;

	for (unsigned long i = 0; i < n; i++) {
		void *p = malloc(1000);

		escape(p);
		if (i % 2)
			free(before);
		before = p;
	}
	return NULL;
}

static void share(unsigned long n)
{
	pthread_t all[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&all[i], NULL, leak_shared, &n))
			victim_die("pthread_create");
	for (int i = 0; i < THREADS; i++)
		pthread_join(all[i], NULL);
	shared += THREADS * (n - n / 2);
}

SITE void *make_thing(void)
{
	void *p = malloc(40);

	escape(p);
	return p;
}

SITE void drop_thing(void *p)
{
	escape(p);
	free(p);
}

static void things(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) {
		void *p = make_thing();

		if (i % 2)
			drop_thing(p);
	}
}

static void maps(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) {
		void *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		p = p == MAP_FAILED ? p : mremap(p, 1 << 20, 4096, 0);
		if (p == MAP_FAILED || munmap(p, 4096))
			victim_die("mmap");
	}
}

static void answer(void)
{
	printf("{\"leak_small\": [%lu, %lu], \"leak_page\": [%lu, %lu], \"leak_resized\": [%lu, %lu], "
	       "\"leak_aligned\": [%lu, %lu], \"leak_large\": [%lu, %lu], \"leak_shared\": [%lu, %lu]}\n",
	       smalls, smalls * 24, pages, pages * 4000, resized, resized * 3000, aligned, aligned * 2000, larges,
	       larges * 700000, shared, shared * 1000);
	fflush(stdout);
}

int main(void)
{
	char line[ORDER_MAX];

	victim_ready();
	for (;;) {
		const char *order = victim_order(line);

		if (!strncmp(order, "leak ", 5))
			leak(strtoul(order + 5, NULL, 10));
		else if (!strncmp(order, "grow ", 5))
			grow(strtoul(order + 5, NULL, 10));
		else if (!strncmp(order, "share ", 6))
			share(strtoul(order + 6, NULL, 10));
		else if (!strncmp(order, "things ", 7))
			things(strtoul(order + 7, NULL, 10));
		else if (!strncmp(order, "maps ", 5))
			maps(strtoul(order + 5, NULL, 10));
		answer();
		if (!strcmp(order, "end"))
			return 0;
	}
}

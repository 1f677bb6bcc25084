/* SPDX-License-Identifier: MIT */
/*
 * grower: a busy service that allocates 200,000 times a second, and leaks. It measures the cost of watching
 * where its heap grows.
 *
 * Between two pairs of malloc and free it computes for as long as gives about 200,000 pairs a second if
 * undisturbed; how long that is, is measured once, at the start. Every hundredth time it leaks a block of 672
 * bytes instead, so that the heap grows (by 132 KiB) ten times a second.
 *
 * It prints its pid, and answers each line of stdin, a number of milliseconds, with one line of JSON: what it
 * did in that time.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define PAIRS_A_SECOND 200000
#define KEEP_EVERY 100
#define KEPT 672
#define LOOK_EVERY 64

static uint64_t pairs;

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void compute(unsigned rounds)
{
	uint64_t x = pairs | 1;

	for (unsigned i = 0; i < rounds; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	__asm__ volatile("" : : "r"(x));
}

static __attribute__((noinline)) void keep(void)
{
	void *volatile block = malloc(KEPT);

	(void)block;
}

static __attribute__((noinline)) void come_and_go(void)
{
	void *volatile block = malloc(100);

	free(block);
}

static double run(clockid_t clock, uint64_t ns, unsigned rounds)
{
	uint64_t start = now_ns(clock), done = 0;

	do {
		for (unsigned i = 0; i < LOOK_EVERY; i++) {
			compute(rounds);
			if (++pairs % KEEP_EVERY)
				come_and_go();
			else
				keep();
		}
		done += LOOK_EVERY;
	} while (now_ns(clock) - start < ns);
	return (double)(now_ns(clock) - start) / (double)done;
}

/*
 * Measured in its own processor time, as the fastest of some tries: other processes on the machine can only
 * make it slower.
 */
static unsigned find_rounds(void)
{
	double best = 1e9;

	for (int i = 0; i < 10; i++) {
		double ns = run(CLOCK_THREAD_CPUTIME_ID, 20000000, 1000);

		if (ns < best)
			best = ns;
	}
	return (unsigned)(1000 * (1e9 / PAIRS_A_SECOND) / best);
}

int main(void)
{
	unsigned rounds = find_rounds();
	char line[64];

	printf("%d\n", (int)getpid());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		char *before = sbrk(0);
		double ns = run(CLOCK_MONOTONIC, strtoull(line, NULL, 10) * 1000000, rounds);

		printf("{\"ns_per_pair\": %.3f, \"growths\": %ld}\n", ns,
		       (long)((char *)sbrk(0) - before) / (132 << 10));
		fflush(stdout);
	}
	return 0;
}

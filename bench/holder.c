/* SPDX-License-Identifier: MIT */
/*
 * holder: a program with many blocks, most of them reachable, to be checked by valgrind and by us.
 *
 *	holder BLOCKS
 *
 * Under valgrind it runs the leak check itself and prints {"seconds": S}, the time it took; otherwise it
 * prints "ready PID" and waits for its stdin to end.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#else
#define RUNNING_ON_VALGRIND 0
#define VALGRIND_DO_LEAK_CHECK
#define VALGRIND_CLO_CHANGE(option)
#endif

#define ROOTS 1000u

void **roots[ROOTS];

static uint64_t seed = 88172645463325252u;

static uint64_t any(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/*
 * Each block points to two older ones. Every tenth is in no list, so blocks reachable only through such
 * blocks are leaked, too.
 */
static void fill(size_t n)
{
	void ***all = calloc(n, sizeof(*all));

	if (!all)
		exit(1);
	for (size_t i = 0; i < n; i++) {
		const size_t size = 32 + any() % 300;

		all[i] = malloc(size);
		if (!all[i])
			exit(1);
		memset(all[i], 0, size);
		if (i) {
			all[i][0] = all[any() % i];
			all[i][2] = all[any() % i];
		}
		if (any() % 10)
			roots[any() % ROOTS] = all[i];
	}
	memset(all, 0, n * sizeof(*all));
	free(all);
}

int main(int argc, char **argv)
{
	char order[64];
	double begin;

	fill(argc > 1 ? strtoul(argv[1], NULL, 0) : 1000);
	if (RUNNING_ON_VALGRIND) {
		begin = now();
		VALGRIND_DO_LEAK_CHECK;
		printf("{\"seconds\": %f}\n", now() - begin);
		fflush(stdout);
		VALGRIND_CLO_CHANGE("--leak-check=no");
		_exit(0);
	}
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	return read(STDIN_FILENO, order, sizeof(order)) < 0;
}

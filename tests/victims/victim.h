/* SPDX-License-Identifier: MIT */
/*
 * What all victims share: how they report that they run, how they get orders, and how blocks are filled so
 * that damage shows.
 *
 * A victim prints "ready PID", takes one order a line on stdin, and answers with one line of JSON. End of
 * stdin is the order "end", so that a victim does not outlive its test.
 */
#ifndef VICTIM_H
#define VICTIM_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ORDER_MAX 128

/* The compiler may neither drop the block nor know what is in it. */
#define escape(p) __asm__ volatile("" : "+r"(p) : : "memory")

static inline void victim_ready(void)
{
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
}

/* The next order, without its newline; "end" when there are no more. */
static inline const char *victim_order(char line[ORDER_MAX])
{
	if (!fgets(line, ORDER_MAX, stdin))
		return strcpy(line, "end");
	line[strcspn(line, "\n")] = '\0';
	return line;
}

static inline void victim_die(const char *what)
{
	fprintf(stderr, "victim: %s: %s\n", what, strerror(errno));
	_exit(3);
}

static inline uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* xorshift: the same seed gives the same sequence everywhere. */
static inline uint64_t victim_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Fill a block from @seed; victim_intact checks whether it is unchanged. */
static inline void victim_fill(void *block, size_t n, uint64_t seed)
{
	unsigned char *p = (unsigned char *)block;

	for (size_t i = 0; i < n; i++)
		p[i] = (unsigned char)(seed + i * 31u + 1u);
}

static inline bool victim_intact(const void *block, size_t n, uint64_t seed)
{
	const unsigned char *p = (const unsigned char *)block;

	for (size_t i = 0; i < n; i++)
		if (p[i] != (unsigned char)(seed + i * 31u + 1u))
			return false;
	return true;
}

/* One allocation, filled, checked and freed; false if it was damaged. */
static inline bool victim_malloc_free(uint64_t *rng)
{
	uint64_t seed = victim_random(rng);
	size_t n = 16 + seed % 400;
	void *p = malloc(n);
	bool ok;

	if (!p)
		return false;
	escape(p);
	victim_fill(p, n, seed);
	escape(p);
	ok = victim_intact(p, n, seed);
	free(p);
	return ok;
}

#endif

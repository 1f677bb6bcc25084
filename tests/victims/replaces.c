/* SPDX-License-Identifier: MIT */
/*
 * replaces: has many blocks of one size from before the watch, and then replaces them, at a steady rate:
 *
 *	run R L		each turn of about a millisecond it replaces R and leaks L blocks (on average), until the
 *			next such order; every second one is replaced by realloc
 *	drop		frees all that are left at once
 *	end		a normal end
 *
 * Each is answered with {"replaced": so far, "leaked": so far, "damaged": 0}. What it leaks stays reachable.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "victim.h"

#define BLOCKS 20000u
#define SIZE 200u

static void *old[BLOCKS], *young[BLOCKS], *leaks[BLOCKS];
static size_t first, damaged;
static _Atomic size_t replaced, leaked;
static _Atomic double replace_rate, leak_rate;
static atomic_bool dropping, ending;

static void *filled(void *block, uint64_t seed)
{
	if (!block)
		victim_die("malloc");
	victim_fill(block, SIZE, seed);
	escape(block);
	return block;
}

__attribute__((noipa)) static void *place_replacing(void *block, uint64_t seed)
{
	return filled(realloc(block, SIZE), seed);
}

__attribute__((noipa)) static void *place_leaking(uint64_t seed)
{
	return filled(malloc(SIZE), seed);
}

static void free_old(size_t i)
{
	damaged += !victim_intact(old[i], SIZE, i);
	free(old[i]);
}

static void replace_one(void)
{
	if (first == BLOCKS)
		return;
	if (first % 2)
		free_old(first);
	young[first] = place_replacing(first % 2 ? NULL : old[first], first);
	first++;
	replaced++;
}

static void leak_one(void)
{
	if (leaked < BLOCKS) {
		leaks[leaked] = place_leaking(leaked);
		leaked++;
	}
}

static void drop(void)
{
	while (first < BLOCKS)
		free_old(first++);
	atomic_store(&dropping, false);
}

static void *run(void *arg)
{
	double replace = 0, leak = 0;

	(void)arg;
	while (!atomic_load(&ending)) {
		if (atomic_load(&dropping))
			drop();
		for (replace += replace_rate; replace >= 1; replace--)
			replace_one();
		for (leak += leak_rate; leak >= 1; leak--)
			leak_one();
		nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
	}
	return NULL;
}

static void answer(void)
{
	printf("{\"replaced\": %zu, \"leaked\": %zu, \"damaged\": %zu}\n", replaced, leaked, damaged);
	fflush(stdout);
}

int main(void)
{
	char line[ORDER_MAX];
	pthread_t thread;
	double r, l;

	for (size_t i = 0; i < BLOCKS; i++)
		old[i] = filled(malloc(SIZE), i);
	errno = pthread_create(&thread, NULL, run, NULL);
	if (errno)
		victim_die("pthread_create");
	victim_ready();
	while (strcmp(victim_order(line), "end") != 0) {
		if (sscanf(line, "run %lf %lf", &r, &l) == 2) {
			replace_rate = r;
			leak_rate = l;
		} else if (!strcmp(line, "drop")) {
			atomic_store(&dropping, true);
		}
		answer();
	}
	ending = true;
	pthread_join(thread, NULL);
	for (size_t i = 0; i < BLOCKS; i++) {
		damaged += young[i] && !victim_intact(young[i], SIZE, i);
		damaged += leaks[i] && !victim_intact(leaks[i], SIZE, i);
	}
	answer();
	return 0;
}

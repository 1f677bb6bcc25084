/* SPDX-License-Identifier: MIT */
/*
 * dpdk_leak: a DPDK program, without hugepages or devices, that allocates blocks of DPDK's heap in every
 * usual way, and loses one in fifty at a separate site for each way.
 *
 * The order "go N" lets two threads allocate N of each, and prints how many blocks each site has lost by
 * then, and how many bytes it requested: {"malloc_lost": [2, 200], ...}.
 */
#include <pthread.h>
#include <rte_eal.h>
#include <rte_malloc.h>

#include "../../victims/victim.h"

#define LOST_ONE_IN 50
#define BYTES 100
#define LOSER __attribute__((noinline, noclone)) static void *

/* The function must not end with a jump to DPDK: then the allocation site would be its caller. */
static inline void *taken(void *block)
{
	escape(block);
	return block;
}

LOSER malloc_lost(void)
{
	return taken(rte_malloc("malloc", BYTES, 0));
}

LOSER zmalloc_lost(void)
{
	return taken(rte_zmalloc("zmalloc", BYTES, 0));
}

LOSER calloc_lost(void)
{
	return taken(rte_calloc("calloc", 1, BYTES, 0));
}

LOSER socket_lost(void)
{
	return taken(rte_zmalloc_socket("socket", BYTES, 64, SOCKET_ID_ANY));
}

/* It cannot grow in place: DPDK allocates a new block and frees the old one. */
LOSER realloc_lost(void)
{
	void *block = rte_malloc("realloc", 8, 0), *wall = rte_malloc("wall", 8, 0);

	block = rte_realloc(block, 20 * BYTES, 0);
	rte_free(wall);
	return taken(rte_realloc(block, BYTES, 0));
}

static const struct way {
	const char *name;
	void *(*take)(void);
} ways[] = {
	{ "malloc_lost", malloc_lost }, { "zmalloc_lost", zmalloc_lost }, { "calloc_lost", calloc_lost },
	{ "socket_lost", socket_lost }, { "realloc_lost", realloc_lost },
};

#define WAYS (sizeof(ways) / sizeof(*ways))
#define THREADS 2

static unsigned long wanted;

/* Returns how many of each way this thread has lost. */
static void *work(void *arg)
{
	unsigned long lost = 0;

	(void)arg;
	for (unsigned long i = 1; i <= wanted; i++) {
		bool lose = i % LOST_ONE_IN == 0;

		for (const struct way *way = ways; way < ways + WAYS; way++) {
			void *block = way->take();

			if (!block)
				victim_die(way->name);
			escape(block);
			if (!lose)
				rte_free(block);
		}
		lost += lose;
	}
	return (void *)lost;
}

static unsigned long go(void)
{
	pthread_t threads[THREADS];
	unsigned long lost = 0;
	void *by_one;

	for (unsigned i = 0; i < THREADS; i++)
		if (rte_ctrl_thread_create(&threads[i], "work", NULL, work, NULL) != 0)
			victim_die("rte_ctrl_thread_create");
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &by_one);
		lost += (unsigned long)by_one;
	}
	return lost;
}

static void tell(unsigned long lost)
{
	for (size_t i = 0; i < WAYS; i++)
		printf("%s\"%s\": [%lu, %lu]", i ? ", " : "{", ways[i].name, lost, lost * BYTES);
	printf("}\n");
	fflush(stdout);
}

int main(void)
{
	char *eal[] = { "dpdk_leak", "--no-huge", "--no-pci", "--no-telemetry", "--no-shconf", "-m", "64",
			"--lcores", "0", "--log-level", "error", NULL };
	char line[ORDER_MAX];
	unsigned long lost = 0;

	if (rte_eal_init(sizeof(eal) / sizeof(*eal) - 1, eal) < 0)
		victim_die("rte_eal_init");
	victim_ready();
	while (strcmp(victim_order(line), "end") != 0)
		if (sscanf(line, "go %lu", &wanted) == 1)
			tell(lost += go());
	printf("{\"ended\": true}\n");
	fflush(stdout);
	return rte_eal_cleanup() < 0;
}

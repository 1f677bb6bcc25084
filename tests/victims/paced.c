/* SPDX-License-Identifier: MIT */
/*
 * paced THREADS RATE: threads that together make RATE pairs of malloc and free a second (fewer if the machine
 * cannot), and never sleep: between two pairs they poll the clock. So a thread that neither runs nor waits
 * for a processor was stopped by another process.
 *
 *	pairs	{"pairs": so far, "ns": the time}
 *	end	{"pairs": ..., "damaged": 0}, and a normal end
 */
#include <pthread.h>
#include <stdatomic.h>

#include "victim.h"

#define MAX_THREADS 256

struct worker {
	pthread_t thread;
	uint64_t pause_ns;
	_Atomic uint64_t pairs;
	uint64_t damaged;
	char apart[64];
};

static struct worker workers[MAX_THREADS];
static atomic_bool ending;

static void *run(void *arg)
{
	struct worker *w = arg;
	uint64_t rng = 88172645463325252u + (uint64_t)(w - workers), next = now_ns();

	while (!atomic_load_explicit(&ending, memory_order_relaxed)) {
		uint64_t now = now_ns();

		if (now < next)
			continue;
		/* missed pairs are not made up for */
		next = (now - next > w->pause_ns ? now : next) + w->pause_ns;
		w->damaged += !victim_malloc_free(&rng);
		atomic_fetch_add_explicit(&w->pairs, 1, memory_order_relaxed);
	}
	return NULL;
}

static uint64_t all_pairs(unsigned n)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += atomic_load(&workers[i].pairs);
	return sum;
}

int main(int argc, char **argv)
{
	unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	double rate = argc > 2 ? atof(argv[2]) : 1000;
	uint64_t damaged = 0;
	char line[ORDER_MAX];

	if (!n || n > MAX_THREADS)
		return 2;
	for (unsigned i = 0; i < n; i++) {
		workers[i].pause_ns = (uint64_t)(1e9 * n / rate);
		errno = pthread_create(&workers[i].thread, NULL, run, &workers[i]);
		if (errno)
			victim_die("pthread_create");
	}
	victim_ready();
	while (strcmp(victim_order(line), "end") != 0) {
		printf("{\"pairs\": %llu, \"ns\": %llu}\n", (unsigned long long)all_pairs(n),
		       (unsigned long long)now_ns());
		fflush(stdout);
	}
	ending = true;
	for (unsigned i = 0; i < n; i++) {
		pthread_join(workers[i].thread, NULL);
		damaged += workers[i].damaged;
	}
	printf("{\"pairs\": %llu, \"damaged\": %llu}\n", (unsigned long long)all_pairs(n),
	       (unsigned long long)damaged);
	return 0;
}

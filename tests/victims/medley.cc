/* SPDX-License-Identifier: MIT */
/*
 * medley: every allocation function there is, by several threads, and the same in every run to the last byte.
 *
 * The threads take turns: in each of its TURNS a thread does OPS operations (exact_ops.h) and rests again;
 * the blocks that it frees are often another thread's. So two watches of the same order must give the same
 * report.
 *
 *	go		all of it; then three blocks are freed twice
 *	answer: {"done": true}
 *
 * Nothing else here allocates.
 */
#include <semaphore.h>

#include "exact_ops.h"
#include "victim.h"

#define THREADS 4
#define TURNS 3
#define OPS 40

static struct worker workers[THREADS];
static sem_t turn[THREADS], done;

static void wait_on(sem_t *sem)
{
	while (sem_wait(sem) && errno == EINTR)
		;
}

static void *work(void *arg)
{
	struct worker *w = (struct worker *)arg;

	for (;;) {
		wait_on(&turn[w - workers]);
		for (unsigned i = 0; i < OPS; i++)
			one_op(w);
		sem_post(&done);
	}
}

/* Free a block twice; it is changed while it is in glibc's cache, so that glibc does not notice. */
static __attribute__((noinline)) void give_twice(void)
{
	uint64_t *p = (uint64_t *)malloc(40), *q;

	escape(p);
	free(p);
	escape(p);
	p[1] = 0;
	escape(p);
	free(p);
	/* the cache has it twice: once it is allocated twice, nothing is wrong any more */
	p = (uint64_t *)malloc(40);
	q = (uint64_t *)malloc(40);
	escape(p);
	escape(q);
}

static void go(void)
{
	for (unsigned i = 0; i < TURNS * THREADS; i++) {
		sem_post(&turn[i % THREADS]);
		wait_on(&done);
	}
	for (int i = 0; i < 3; i++)
		give_twice();
}

int main(void)
{
	static char in[4096], out[4096];
	char line[ORDER_MAX];

	setvbuf(stdin, in, _IOFBF, sizeof(in));
	setvbuf(stdout, out, _IOFBF, sizeof(out));
	/* A threshold set by hand stays: glibc's own grows with the sizes that are freed. */
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	sem_init(&done, 0, 0);
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i].rng = i + 1;
		sem_init(&turn[i], 0, 0);
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
			victim_die("pthread_create");
	}
	victim_ready();
	while (strcmp(victim_order(line), "end") != 0) {
		if (strcmp(line, "go") == 0)
			go();
		printf("{\"done\": true}\n");
		fflush(stdout);
	}
	printf("{}\n");
	fflush(stdout);
	_exit(0);
}

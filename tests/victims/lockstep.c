/* SPDX-License-Identifier: MIT */
/*
 * lockstep THREADS EVERY_US: threads in lockstep, as the workers of a parallel loop: every EVERY_US they meet
 * at a barrier, then all allocate a block at the same allocation site, and work for a while. One in sixteen
 * of these blocks leaks, the others are freed at the end of the work.
 *
 *	pairs	{"allocs": so far, "ns": the time}
 *	end	{"allocs": ..., "damaged": 0}, and a normal end
 */
#include <pthread.h>
#include <stdatomic.h>

#include "victim.h"

#define MAX_THREADS 256
#define WORK_NS 50000
#define KEPT 16
#define SIZE 48

static pthread_barrier_t barrier;
static _Atomic uint64_t allocs;
static atomic_ulong damaged;
static atomic_bool ending;
static _Atomic uint64_t last = UINT64_MAX;	/* round */
static unsigned threads = 32;
static uint64_t every_ns = 4000000;

__attribute__((noipa)) static void *site_lockstep(size_t n)
{
	void *p = malloc(n);

	escape(p);
	return p;
}

/* Measured in CPU time, not in wall time: a thread that does not run does not work. */
static void work(void)
{
	struct timespec t;
	uint64_t now, end = 0;

	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
		end = end ? end : now + WORK_NS;
	} while (now < end);
}

static void go_once(uint64_t mark)
{
	uint64_t *p = site_lockstep(SIZE);

	if (!p)
		victim_die("malloc");
	atomic_fetch_add_explicit(&allocs, 1, memory_order_relaxed);
	p[0] = (uint64_t)(uintptr_t)&barrier;
	p[1] = mark;
	work();
	if (p[0] != (uint64_t)(uintptr_t)&barrier || p[1] != mark)
		damaged++;
	if (mark % KEPT)
		free(p);
}

/* Thread 0 keeps the pace, and sets the last round: the others see that after the barrier. */
static void *run(void *arg)
{
	const unsigned number = (unsigned)(uintptr_t)arg;
	uint64_t next = now_ns();

	for (uint64_t n = 0;; n++) {
		if (!number) {
			struct timespec t;

			next += every_ns;
			t = (struct timespec){ (time_t)(next / 1000000000u), (long)(next % 1000000000u) };
			while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
				;
			if (ending)
				last = n;
		}
		pthread_barrier_wait(&barrier);
		if (n == last)
			return NULL;
		go_once(n + number);
	}
}

int main(int argc, char **argv)
{
	pthread_t all[MAX_THREADS];
	char line[ORDER_MAX];

	threads = argc > 1 ? (unsigned)atoi(argv[1]) : threads;
	every_ns = argc > 2 ? (uint64_t)atoi(argv[2]) * 1000 : every_ns;
	if (!threads || threads > MAX_THREADS || !every_ns)
		return 2;
	pthread_barrier_init(&barrier, NULL, threads);
	for (unsigned i = 0; i < threads; i++) {
		errno = pthread_create(&all[i], NULL, run, (void *)(uintptr_t)i);
		if (errno)
			victim_die("pthread_create");
	}
	victim_ready();
	while (strcmp(victim_order(line), "end") != 0) {
		printf("{\"allocs\": %lu, \"ns\": %lu}\n", (unsigned long)allocs, (unsigned long)now_ns());
		fflush(stdout);
	}
	ending = true;
	for (unsigned i = 0; i < threads; i++)
		pthread_join(all[i], NULL);
	printf("{\"allocs\": %lu, \"damaged\": %lu}\n", (unsigned long)allocs, (unsigned long)damaged);
	return 0;
}

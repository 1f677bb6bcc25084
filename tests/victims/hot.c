/* SPDX-License-Identifier: MIT */
/*
 * hot [HOT [IDLE]]: HOT threads that do nothing but malloc and free, IDLE ones
 * that sleep in a futex, and a main thread that waits for orders.
 *
 *	rate	{"rate": pairs per second, "least": of the slowest thread, "most": of the fastest,
 *		"pace": pairs per second of processor time}, measured over 200 ms
 *	pace	the same, when at least 20 ms of processor time have been used, and each thread has made a pair: on a
 *		busy machine it may have no processor for a while. After five seconds there is no pace: 0
 *	end	{"pairs": ..., "damaged": 0}, and a normal end
 *
 * Idle threads are woken for the end by the futex, never by a signal.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "victim.h"

#define MAX_THREADS 4096
#define RATE_NS 200000000
#define PACE_LEAST_NS 20000000u
#define PACE_MOST_NS 5000000000u

struct worker {
	pthread_t thread;
	_Atomic uint64_t pairs;
	uint64_t damaged;
	uint64_t seen;		/* pairs at the start of this measurement */
	char apart[64];		/* keeps the counters of two threads out of one cache line */
};

static struct worker workers[MAX_THREADS];
static atomic_bool ending;
static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t idle_end = PTHREAD_COND_INITIALIZER;

static void *hot(void *arg)
{
	struct worker *w = arg;
	uint64_t rng = 88172645463325252u + (uint64_t)(w - workers);

	while (!atomic_load_explicit(&ending, memory_order_relaxed)) {
		w->damaged += !victim_malloc_free(&rng);
		atomic_fetch_add_explicit(&w->pairs, 1, memory_order_relaxed);
	}
	return NULL;
}

static void *idle(void *arg)
{
	pthread_mutex_lock(&idle_lock);
	while (!ending)
		pthread_cond_wait(&idle_end, &idle_lock);
	pthread_mutex_unlock(&idle_lock);
	return arg;
}

static void start(struct worker *w, void *(*run)(void *))
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	errno = pthread_create(&w->thread, &attr, run, w);
	if (errno)
		victim_die("pthread_create");
	pthread_attr_destroy(&attr);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool all_work(unsigned nhot)
{
	for (unsigned i = 0; i < nhot; i++)
		if (workers[i].pairs == workers[i].seen)
			return false;
	return true;
}

/* Without @cpu_least_ns nothing is waited for. */
static void answer_rate(unsigned nhot, uint64_t cpu_least_ns)
{
	struct timespec span = { .tv_nsec = RATE_NS };
	uint64_t start_ns = now_ns(), start_cpu_ns = cpu_ns(), worked_ns, sum = 0, least = UINT64_MAX, most = 0;
	double seconds;
	bool worked;

	for (unsigned i = 0; i < nhot; i++)
		workers[i].seen = workers[i].pairs;
	do {
		nanosleep(&span, NULL);
		worked_ns = cpu_ns() - start_cpu_ns;
		worked = worked_ns && worked_ns >= cpu_least_ns && all_work(nhot);
	} while (cpu_least_ns && !worked && now_ns() - start_ns < PACE_MOST_NS);
	for (unsigned i = 0; i < nhot; i++) {
		uint64_t n = workers[i].pairs - workers[i].seen;

		sum += n;
		least = n < least ? n : least;
		most = n > most ? n : most;
	}
	seconds = (double)(now_ns() - start_ns) / 1e9;
	printf("{\"rate\": %.0f, \"least\": %.0f, \"most\": %.0f, \"pace\": %.0f}\n", (double)sum / seconds,
	       nhot ? (double)least / seconds : 0, (double)most / seconds,
	       !worked ? 0 : (double)sum * 1e9 / (double)worked_ns);
	fflush(stdout);
}

static void answer_end(unsigned nhot, unsigned nidle)
{
	uint64_t pairs = 0, damaged = 0;

	pthread_mutex_lock(&idle_lock);
	ending = true;
	pthread_cond_broadcast(&idle_end);
	pthread_mutex_unlock(&idle_lock);
	for (unsigned i = 0; i < nhot + nidle; i++) {
		pthread_join(workers[i].thread, NULL);
		pairs += workers[i].pairs;
		damaged += workers[i].damaged;
	}
	printf("{\"pairs\": %llu, \"damaged\": %llu}\n", (unsigned long long)pairs,
	       (unsigned long long)damaged);
}

int main(int argc, char **argv)
{
	unsigned nhot = argc > 1 ? (unsigned)atoi(argv[1]) : 4;
	unsigned nidle = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
	char line[ORDER_MAX];

	if (nhot + nidle > MAX_THREADS)
		return 2;
	for (unsigned i = 0; i < nhot + nidle; i++)
		start(&workers[i], i < nhot ? hot : idle);
	victim_ready();
	while (strcmp(victim_order(line), "end") != 0)
		if (strcmp(line, "rate") == 0)
			answer_rate(nhot, 0);
		else if (strcmp(line, "pace") == 0)
			answer_rate(nhot, PACE_LEAST_NS);
	answer_end(nhot, nidle);
	return 0;
}

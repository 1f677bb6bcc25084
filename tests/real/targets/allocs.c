/* SPDX-License-Identifier: MIT */
/*
 * allocs: the same as exact.cc, but without C++, for a C library other than glibc: four threads that call
 * every allocation function of C and POSIX between two marks, and count their calls.
 *
 * The order "go N" lets each thread do N operations and prints, with the names of the report,
 *
 *	{"allocs", "frees", "live_blocks", "live_requested"}
 *
 * Each thread has its own blocks; those still live at the end are its leak, and the next "go" begins with
 * none.
 */
#include <malloc.h>
#include <pthread.h>

#include "../../victims/victim.h"

#define THREADS 4
#define SLOTS 32

struct slot {
	void *block;
	size_t requested;
};

struct worker {
	pthread_t thread;
	uint64_t rng;
	struct slot slots[SLOTS];
	uint64_t allocs, frees;
};

static struct worker workers[THREADS];
static unsigned long ops;
static pthread_barrier_t barrier;
static volatile int mark;

__attribute__((noinline)) void mm_mark_begin(void);
__attribute__((noinline)) void mm_mark_end(void);
void mm_mark_begin(void) { mark = 1; }
void mm_mark_end(void) { mark = 2; }

static void took(struct worker *w, struct slot *s, void *block, size_t requested)
{
	if (!block)
		victim_die("an allocation failed");
	escape(block);
	*s = (struct slot){ block, requested };
	w->allocs++;
}

static void take(struct worker *w, struct slot *s)
{
	size_t n = 1 + victim_random(&w->rng) % 3000, align = (size_t)32 << victim_random(&w->rng) % 5;
	void *block = NULL;
	char *text = "strdup's";

	switch (victim_random(&w->rng) % 8) {
	case 0:
		return took(w, s, calloc(3, n), 3 * n);
	case 1:
		return took(w, s, aligned_alloc(align, align * (n % 9 + 1)), align * (n % 9 + 1));
	case 2:
		if (posix_memalign(&block, align, n) != 0)
			victim_die("posix_memalign");
		return took(w, s, block, n);
	case 3:
		return took(w, s, memalign(align, n), n);
	case 4:
		escape(block);
		return took(w, s, realloc(block, n), n);
	case 5:
		escape(text);
		return took(w, s, strdup(text), strlen(text) + 1);
	default:
		return took(w, s, malloc(n), n);
	}
}

static void use(struct worker *w, struct slot *s)
{
	size_t n = 1 + victim_random(&w->rng) % 3000;
	void *block = s->block;

	w->frees++;
	if (victim_random(&w->rng) % 3 == 0)
		return took(w, s, victim_random(&w->rng) % 2 ? realloc(block, n) : reallocarray(block, 1, n),
			    n);
	s->block = NULL;
	free(block);
}

static void call_in_vain(void)
{
	volatile size_t huge = (size_t)PTRDIFF_MAX + 4096;
	void *none = NULL;

	escape(none);
	free(none);
	if (malloc(huge) || calloc(huge, 4))
		victim_die("an allocation should have failed");
}

static void one_op(struct worker *w)
{
	struct slot *s = &w->slots[victim_random(&w->rng) % SLOTS];

	if (victim_random(&w->rng) % 64 == 0)
		call_in_vain();
	else if (s->block)
		use(w, s);
	else
		take(w, s);
}

/* The marks lie after the threads' start and before their end, which allocate as well. */
static void *work(void *arg)
{
	pthread_barrier_wait(&barrier);
	for (unsigned long i = 0; i < ops; i++)
		one_op(arg);
	pthread_barrier_wait(&barrier);
	return NULL;
}

static void tell(void)
{
	uint64_t allocs = 0, frees = 0, live = 0, bytes = 0;

	for (struct worker *w = workers; w < workers + THREADS; w++) {
		allocs += w->allocs;
		frees += w->frees;
		for (struct slot *s = w->slots; s < w->slots + SLOTS; s++) {
			live += s->block != NULL;
			bytes += s->block ? s->requested : 0;
		}
	}
	printf("{\"allocs\": %lu, \"frees\": %lu, \"live_blocks\": %lu, \"live_requested\": %lu}\n",
	       (unsigned long)allocs, (unsigned long)frees, (unsigned long)live, (unsigned long)bytes);
	fflush(stdout);
}

static void go(void)
{
	memset(workers, 0, sizeof(workers));
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i].rng = ops * 2654435761u + i + 1;
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
			victim_die("pthread_create");
	}
	mm_mark_begin();
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	mm_mark_end();
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	tell();
}

int main(void)
{
	char line[ORDER_MAX];

	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	victim_ready();
	while (strcmp(victim_order(line), "end") != 0) {
		if (sscanf(line, "go %lu", &ops) == 1)
			go();
	}
	printf("{\"ended\": true}\n");
	return 0;
}

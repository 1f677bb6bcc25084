/* SPDX-License-Identifier: MIT */
/*
 * hoard: blocks of every kind from whatever malloc it is linked with, and the truth about them
 * (census_truth.h). It calls nothing that only one libc or allocator has.
 *
 *	hoard MODE [BLOCKS] [THREADS] [SEED]
 *
 *	plain		one thread
 *	all		threads with blocks of all sizes; many are freed by another thread than had them
 *	gone		the same, but all threads have ended, and others live on
 *	load		the same as all, and the threads go on
 *	step		a small heap; the thread that was started last goes on, or, with one thread, the first
 *			one once an order says so
 *
 * With HOARD_PREFIX, malloc and the like are its own, around those functions with that prefix: then the truth
 * has libc's blocks, too. (musl's loader calls only musl's own malloc.)
 *
 * Orders: "truth" prints where the table is; "end".
 */
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>

#include "census_table.h"
#include "victim.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

/* --- the allocator --- */

#ifdef HOARD_PREFIX
#define PASTE2(a, b) a##b
#define PASTE(a, b) PASTE2(a, b)
#define REAL(name) PASTE(HOARD_PREFIX, name)
extern void *REAL(malloc)(size_t n);
extern void *REAL(calloc)(size_t n, size_t size);
extern void *REAL(realloc)(void *p, size_t n);
extern void *REAL(memalign)(size_t align, size_t n);
extern void REAL(free)(void *p);
#ifdef HOARD_USABLE
extern size_t HOARD_USABLE(const void *p);
#else
#define HOARD_USABLE malloc_usable_size
#endif
#define OWN(name) name
#else
#define REAL(name) name
#define HOARD_USABLE malloc_usable_size
#define OWN(name) own_##name
static void *own_malloc(size_t n);
static void *own_calloc(size_t n, size_t size);
static void *own_realloc(void *p, size_t n);
static void *own_memalign(size_t align, size_t n);
static void own_free(void *p);
#endif

/* Blocks that are older than tcmalloc's first constructor: of these it said that 0 bytes are usable. */
static void *early[16];
static unsigned nearly;

static void *put(void *p)
{
	const size_t size = p ? HOARD_USABLE(p) : 0;

	if (p && !size && nearly < sizeof(early) / sizeof(*early))
		early[nearly++] = p;
	return census_table_put(p, size);
}

static void forget(const void *p)
{
	for (unsigned i = 0; p && i < nearly; i++)
		early[i] = early[i] == p ? NULL : early[i];
}

static void measure_again(void)
{
	const unsigned n = nearly;

	for (unsigned i = 0; i < n; i++) {
		if (!early[i])
			continue;
		census_table_begin(early[i]);
		(void)put(early[i]);
	}
}

void *OWN(malloc)(size_t n)
{
	census_table_begin(NULL);
	return put(REAL(malloc)(n));
}

void *OWN(calloc)(size_t n, size_t size)
{
	census_table_begin(NULL);
	return put(REAL(calloc)(n, size));
}

void *OWN(memalign)(size_t align, size_t n)
{
	census_table_begin(NULL);
	return put(REAL(memalign)(align, n));
}

void *OWN(realloc)(void *p, size_t n)
{
	void *q;

	forget(p);
	census_table_begin(p);
	q = REAL(realloc)(p, n);
	if (!q && n)
		victim_die("realloc failed");
	return put(q);
}

void OWN(free)(void *p)
{
	forget(p);
	census_table_begin(p);
	REAL(free)(p);
	census_table_end();
}

#ifdef HOARD_PREFIX
void *aligned_alloc(size_t align, size_t n)
{
	return memalign(align, n);
}

int posix_memalign(void **out, size_t align, size_t n)
{
	*out = memalign(align, n);
	return *out ? 0 : ENOMEM;
}

/* C++'s new and delete, which tcmalloc has, and calls itself to be able to say what is usable. */
void *_Znwm(size_t n)
{
	void *p;

	census_table_begin(NULL);
	p = REAL(malloc)(n);
	if (nearly < sizeof(early) / sizeof(*early))
		early[nearly++] = p;
	return census_table_put(p, 0);
}

void _ZdlPv(void *p)
{
	free(p);
}
#endif

/* --- threads at work --- */

struct worker {
	pthread_t thread;
	uint64_t rng;
	size_t n;
	void **slots;
};

static const char *mode;
static struct worker *workers;
static size_t nworkers;
static volatile bool stop;
static pthread_barrier_t filled, park;

static bool is(const char *name)
{
	return strcmp(mode, name) == 0;
}

static size_t below(struct worker *w, size_t n)
{
	return victim_random(&w->rng) % n;
}

/* All sizes, mostly small ones; if there are a great many blocks, nearly all are small. */
static size_t any_size(struct worker *w)
{
	if (w->n >= 20000 && below(w, 32))
		return below(w, 200);
	switch (below(w, is("step") ? 64 : 1024)) {
	case 0: return below(w, 3) ? 130000 + below(w, 300000) : MIB + below(w, 2 * MIB);
	case 1: return is("step") || below(w, 8) ? 131040 + below(w, 30) : 17 * MIB + below(w, 20 * MIB);
	case 2 ... 9: return 16000 + below(w, 100000);
	case 10 ... 80: return 1000 + below(w, 8000);
	default: return below(w, 400);
	}
}

static size_t any_alignment(struct worker *w)
{
	return below(w, 32) || is("step") ? (size_t)16 << below(w, 9) : (size_t)16 << below(w, 21);
}

/* Not zeros, and to its end: what a block held must not look like what an allocator keeps there. */
static void *scribble(void *p, size_t n)
{
	/* each byte may be a step */
	const size_t most = is("step") ? 64 : 16 * KIB;

	if (!p)
		victim_die("an allocation failed");
	memset(p, 0x5a, n < most ? n : most);
	escape(p);
	return p;
}

static void *any_block(struct worker *w)
{
	const size_t n = any_size(w);

	switch (below(w, is("step") ? 8 : 64)) {
	case 0: return scribble(OWN(memalign)(any_alignment(w), n), n);
	case 1: return scribble(OWN(calloc)(1, is("step") ? n % KIB : n), is("step") ? n % KIB : n);
	default: return scribble(OWN(malloc)(n), n);
	}
}

/* More blocks of one size than a thread's cache keeps: it gets them from central lists, and gives them back. */
static void burst(struct worker *w)
{
	void *blocks[48];
	const size_t n = (size_t)16 << below(w, 10);

	for (unsigned i = 0; i < sizeof(blocks) / sizeof(*blocks); i++)
		blocks[i] = scribble(OWN(malloc)(n), n);
	for (unsigned i = 0; i < sizeof(blocks) / sizeof(*blocks); i++)
		OWN(free)(blocks[i]);
}

static void one_op(struct worker *w)
{
	void **slot = &w->slots[below(w, w->n)];
	/* often another thread's block */
	void *p = __atomic_exchange_n(below(w, 4) ? slot : &workers[below(w, nworkers)].slots[below(w, w->n)],
				      NULL, __ATOMIC_SEQ_CST);

	if (is("step") && below(w, 8) == 0)
		burst(w);
	if (p && below(w, 8) == 0) {
		const size_t n = any_size(w) + 1;

		p = scribble(OWN(realloc)(p, n), n);
	} else if (p) {
		OWN(free)(p);
		p = NULL;
	} else {
		p = any_block(w);
	}
	if (p)
		OWN(free)(__atomic_exchange_n(slot, p, __ATOMIC_SEQ_CST));
}

static void fill(struct worker *w)
{
	for (size_t i = 0; i < w->n; i++) {
		OWN(free)(__atomic_exchange_n(&w->slots[i], any_block(w), __ATOMIC_SEQ_CST));
		if (below(w, 4) == 0)
			one_op(w);
	}
	/* holes of all sizes; runs of neighbours too */
	for (size_t i = 0; i < w->n / 8; i++)
		OWN(free)(__atomic_exchange_n(&w->slots[below(w, w->n)], NULL, __ATOMIC_SEQ_CST));
	for (size_t i = 0; i < w->n / 16; i++)
		OWN(free)(__atomic_exchange_n(&w->slots[w->n / 2 + i], NULL, __ATOMIC_SEQ_CST));
}

static bool goes_on(const struct worker *w)
{
	return !stop && (is("load") || (is("step") && w == &workers[nworkers - 1]));
}

static void *work(void *arg)
{
	struct worker *w = arg;

	fill(w);
	pthread_barrier_wait(&filled);
	for (unsigned i = 0; i < 4000; i++)
		one_op(w);
	for (unsigned i = 0; i < 200; i++)
		OWN(free)(__atomic_exchange_n(&w->slots[below(w, w->n)], NULL, __ATOMIC_SEQ_CST));
	if (is("gone"))
		return NULL;
	while (goes_on(w))
		one_op(w);
	pthread_barrier_wait(&park);
	pthread_barrier_wait(&park);
	return NULL;
}

static void start(size_t blocks, uint64_t seed)
{
	for (size_t i = 0; i < nworkers; i++) {
		struct worker *w = &workers[i];

		w->rng = 88172645463325252u + i * 7919 + seed * 104729;
		w->n = blocks / nworkers;
		w->slots = OWN(calloc)(w->n, sizeof(*w->slots));
	}
	for (size_t i = 1; i < nworkers; i++)
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			victim_die("pthread_create");
}

static void *idle(void *arg)
{
	OWN(free)(OWN(malloc)(100));
	pause();
	return arg;
}

/* The first worker is the main thread. */
static void first_worker(void)
{
	struct worker *w = &workers[0];

	fill(w);
	pthread_barrier_wait(&filled);
	for (unsigned i = 0; i < 4000; i++)
		one_op(w);
	if (!is("gone")) {
		if (!is("load") && !is("step"))
			pthread_barrier_wait(&park);
		return;
	}
	for (size_t i = 1; i < nworkers; i++)
		pthread_join(workers[i].thread, NULL);
	for (size_t i = 1; i < nworkers; i += 2)
		if (pthread_create(&workers[i].thread, NULL, idle, NULL))
			victim_die("pthread_create");
	/* blocks of threads that are gone */
	for (unsigned i = 0; i < 4000; i++)
		one_op(w);
}

/* --- orders --- */

static void orders(void)
{
	char line[ORDER_MAX];

	for (;;) {
		const char *order = victim_order(line);

		if (strcmp(order, "end") == 0)
			return;
		if (strcmp(order, "truth") == 0) {
			printf("{\"truth\": %" PRIu64 "}\n", (uint64_t)(uintptr_t)&truth);
			fflush(stdout);
		} else {
			victim_die(order);
		}
	}
}

int main(int argc, char **argv)
{
	const size_t blocks = argc > 2 ? strtoull(argv[2], NULL, 0) : 100000;

	measure_again();
	mode = argc > 1 ? argv[1] : "all";
	nworkers = argc > 3 ? strtoull(argv[3], NULL, 0) : 8;
	if (is("plain"))
		nworkers = 1;
	workers = OWN(calloc)(nworkers, sizeof(*workers));
	pthread_barrier_init(&filled, NULL, (unsigned)nworkers);
	pthread_barrier_init(&park, NULL, (unsigned)nworkers);
	start(blocks, argc > 4 ? strtoull(argv[4], NULL, 0) : 0);
	first_worker();
	victim_ready();
	orders();
	while (is("step") && nworkers == 1)
		one_op(&workers[0]);
	stop = true;
	_exit(0);
}

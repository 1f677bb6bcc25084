/* SPDX-License-Identifier: MIT */
/*
 * fates_child: a process that allocates and frees blocks in many places, and notes in shared memory when each
 * of the blocks that it reports was allocated and freed. It records this itself: nothing is found out from
 * the blocks.
 *
 * A place is a way to begin (enum begins), a way to live (enum lives) and a size. One block of four is freed
 * by another thread: a short-lived one that also allocates some blocks that are never written to (place
 * HELPERS), returns memory to the kernel now and then, and ends, which empties its tcache.
 */
#ifndef FATES_CHILD_H
#define FATES_CHILD_H

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define TOLD (1u << 19)		/* allocations that are reported in a run */
#define HELD 4096u		/* live blocks of a place */
#define BOX 4096u		/* blocks handed over to another thread */
/* allocations of a place that are reported in a second, unless all of them are */
#define QUOTA 4u

/*
 * BUFFER: a type, and a buffer of its own; LIST: links that change; COUNTED: a type, and a count that
 * changes; BLANK: nothing is written.
 */
#define BEGINS(X)                                                                                            \
	X(alike, ALIKE) X(differ, DIFFER) X(buffer, BUFFER) X(list, LIST) X(counted, COUNTED) X(blank, BLANK)
#define LIVES(X)                                                                                             \
	X(moment, MOMENT, 0, 1500)                                                                           \
	X(ring, RING, 3, 500) X(second, SECOND, 1000, 50) X(seconds, SECONDS, 5000, 20)                      \
		X(forever, FOREVER, 0, 4)

enum begins {
#define X(lower, upper) upper,
	BEGINS(X)
#undef X
	BEGINS_N
};

/* name, number, milliseconds, births a second */
enum lives {
#define X(lower, upper, ms, rate) upper,
	LIVES(X)
#undef X
	LIVES_N
};

static const unsigned sizes[] = { 40, 150, 600, 3000, 300000 };

#define SIZES_N (sizeof(sizes) / sizeof(*sizes))
#define HELPERS (BEGINS_N * LIVES_N * SIZES_N)
#define PLACES (HELPERS + 1)

struct truth {
	uint64_t addr, head, words[2], birth_ns;
	_Atomic uint64_t dying_ns, death_ns;	/* before free is called, after it has returned; 0: not yet */
	uint32_t place;
};

struct told {
	_Atomic uint32_t n;
	_Atomic bool stands[PLACES];
	struct truth all[TOLD];
};

struct owned {
	uint64_t *at, *buffer;
	struct truth *truth;		/* NULL: not reported */
	uint64_t until_ns;
};

struct place {
	struct owned held[HELD];
	unsigned head, tail, told_now;
	uint64_t second;
	double due;
};

struct worker {
	pthread_t thread;
	uint64_t rng;
	struct place places[PLACES];
};

static struct told *told;
static unsigned workers_n;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* protects the box below, and told */
static struct owned box[BOX];
static unsigned in_box;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static enum begins begins_of(uint32_t place)
{
	return place == HELPERS ? BLANK : (enum begins)(place % BEGINS_N);
}

static enum lives lives_of(uint32_t place)
{
	return place == HELPERS ? RING : (enum lives)(place / BEGINS_N % LIVES_N);
}

static unsigned size_of(uint32_t place)
{
	return place == HELPERS ? 100 : sizes[place / BEGINS_N / LIVES_N];
}

static uint64_t rnd(uint64_t *rng)
{
	*rng ^= *rng << 13;
	*rng ^= *rng >> 7;
	*rng ^= *rng << 17;
	return *rng;
}

/* --- reports --- */

static bool is_told(struct place *p, uint32_t place, uint64_t now)
{
	if (now / 1000000000u != p->second) {
		p->second = now / 1000000000u;
		p->told_now = 0;
	}
	return atomic_load(&told->stands[place]) || p->told_now++ < (QUOTA + workers_n - 1) / workers_n;
}

/* The word before a block: glibc's or musl's. Before a block of another malloc's there may be no memory. */
static uint64_t head_of(const uint64_t *at)
{
#ifdef __GLIBC__
	if ((uintptr_t)at % 4096 == 0)
		return 0;
#endif
	return at[-1];
}

/* The block as a trap behind the call of malloc sees it. */
static struct truth *tell(const uint64_t *at, uint32_t place)
{
	struct truth *t = NULL;

	pthread_mutex_lock(&lock);
	if (atomic_load(&told->n) < TOLD) {
		t = &told->all[atomic_load(&told->n)];
		*t = (struct truth){
			.addr = (uintptr_t)at, .head = head_of(at), .words = { at[0], at[1] },
			.birth_ns = now_ns(), .place = place,
		};
		atomic_fetch_add(&told->n, 1);
	}
	pthread_mutex_unlock(&lock);
	return t;
}

/* --- one block --- */

/* In a list, the previous block gets a pointer to the new one. */
static void link_to_last(struct place *p, struct owned *b)
{
	const struct owned *last = p->head != p->tail ? &p->held[(p->head - 1) % HELD] : NULL;

	b->at[0] = 0;
	b->at[1] = last ? (uintptr_t)last->at : 0;
	if (last)
		last->at[0] = (uintptr_t)b->at;
}

static void fill(uint64_t *rng, struct place *p, struct owned *b, uint32_t place)
{
	static const char types[PLACES];
	const enum begins begins = begins_of(place);

	if (begins == BLANK)
		return;
	if (begins == LIST) {
		link_to_last(p, b);
		return;
	}
	if (begins == BUFFER)
		b->buffer = malloc(100);
	b->at[0] = begins == DIFFER ? rnd(rng) : (uintptr_t)&types[place];
	b->at[1] = begins == BUFFER ? (uintptr_t)b->buffer : begins == DIFFER ? (uintptr_t)&types[place] : 1;
}

static void give(struct owned *b)
{
	if (b->truth)
		atomic_store(&b->truth->dying_ns, now_ns());
	free(b->buffer);
	free(b->at);
	if (b->truth)
		atomic_store(&b->truth->death_ns, now_ns());
}

static void hand_over(uint64_t *rng, struct owned *b)
{
	bool taken = false;

	if (rnd(rng) % 4 == 0) {
		pthread_mutex_lock(&lock);
		taken = in_box < BOX;
		if (taken)
			box[in_box++] = *b;
		pthread_mutex_unlock(&lock);
	}
	if (!taken)
		give(b);
}

static void give_old(uint64_t *rng, struct place *p, uint64_t now)
{
	while (p->tail != p->head && p->held[p->tail % HELD].until_ns <= now)
		hand_over(rng, &p->held[p->tail++ % HELD]);
}

static void take(struct worker *w, uint32_t place, uint64_t now)
{
#define X(lower, upper, ms, rate) [upper] = (ms) * UINT64_C(1000000),
	static const uint64_t lives_ns[] = { LIVES(X) };
#undef X
	struct place *p = &w->places[place];
	struct owned *b = &p->held[p->head % HELD];

	if (p->head - p->tail == HELD)
		return;
	*b = (struct owned){
		.at = malloc(size_of(place) + (rnd(&w->rng) & 1) * 16),
		.until_ns = now + lives_ns[lives_of(place)],
	};
	if (!b->at)
		_exit(3);
	if (lives_of(place) == FOREVER)
		b->until_ns = UINT64_MAX;
	if (is_told(p, place, now))
		b->truth = tell(b->at, place);
	fill(&w->rng, p, b, place);
	p->head++;
}

/* --- threads --- */

static void work_at(struct worker *w, uint32_t place, double s, uint64_t now)
{
#define X(lower, upper, ms, rate) [upper] = (rate),
	static const double rates[] = { LIVES(X) };
#undef X
	struct place *p = &w->places[place];

	give_old(&w->rng, p, now);
	for (p->due += s * rates[lives_of(place)] / workers_n / (size_of(place) > 100000 ? 10 : 1);
	     p->due >= 1; p->due--) {
		take(w, place, now);
		give_old(&w->rng, p, now);
	}
	if (begins_of(place) == COUNTED && p->head != p->tail)
		p->held[(p->tail + (unsigned)rnd(&w->rng) % (p->head - p->tail)) % HELD].at[1]++;
}

static void *work(void *arg)
{
	const struct timespec pause = { 0, 1000000 };
	struct worker *w = arg;
	uint64_t last = now_ns();

	for (;;) {
		const uint64_t now = now_ns();

		for (uint32_t i = 0; i < HELPERS; i++)
			work_at(w, (uint32_t)((i + w->rng) % HELPERS), (double)(now - last) / 1e9, now);
		last = now;
		nanosleep(&pause, NULL);
	}
	return NULL;
}

/* Allocates blocks that are never written to, and frees what was handed over. */
static void *help(void *arg)
{
	const struct timespec pause = { 0, 20000000 };
	struct worker *w = arg;
	struct owned mine[8], last;

	for (unsigned i = 0; i < 8; i++) {
		mine[i] = (struct owned){ .at = malloc(size_of(HELPERS)) };
		mine[i].truth =
			is_told(&w->places[HELPERS], HELPERS, now_ns()) ? tell(mine[i].at, HELPERS) : NULL;
	}
	nanosleep(&pause, NULL);
	for (bool more = true; more;) {
		pthread_mutex_lock(&lock);
		more = in_box > 0;
		if (more)
			last = box[--in_box];
		pthread_mutex_unlock(&lock);
		if (more)
			give(&last);
	}
	for (unsigned i = 0; i < 8; i++)
		give(&mine[i]);
	return NULL;
}

static int run_child(unsigned threads, uint64_t seed)
{
	struct worker *workers = calloc(threads + 1, sizeof(*workers));

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	workers_n = threads;
	for (unsigned i = 0; workers && i < threads; i++) {
		workers[i].rng = seed * 88172645463325252u + i;
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			return 3;
	}
	for (unsigned i = 0; workers; i++) {
		if (pthread_create(&workers[threads].thread, NULL, help, &workers[threads]))
			return 3;
		pthread_join(workers[threads].thread, NULL);
#ifdef __GLIBC__
		if (i % 32 == 0)
			malloc_trim(0);
#endif
	}
	return 3;
}

#endif

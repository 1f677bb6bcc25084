/* SPDX-License-Identifier: MIT */
/*
 * pooled: an allocator with pools in pools, used by four threads at random. Blocks and pools are malloc's, so
 * the addresses of one thread's are soon those of another's, and of a block after a pool.
 *
 *	go N SEED	each thread frees all that it has with one call, and makes N steps
 *	clear		all that there is is freed
 *
 * Each answers with {"blocks", "pools", "bytes"}: what there is; and how many calls there were of "taken",
 * "created", "given", "destroyed".
 */
#include <pthread.h>

#include "victim.h"

#define THREADS 4
#define POOLS 24

struct block {
	struct block *next;
	size_t size;
};

struct pool {
	struct pool *around, *first, *next;
	struct block *blocks;
	char name[16];
};

struct worker {
	pthread_t thread;
	uint64_t rng;
	unsigned steps;
	struct pool *root;
	struct pool *pools[POOLS];	/* those that steps are about; NULL: free for a new one */
	unsigned long taken, created, given, destroyed;
};

static struct worker workers[THREADS];

/* --- the allocator: what the rules name --- */

__attribute__((noinline, noclone)) struct pool *pool_new(struct pool *around, const char *name)
{
	struct pool *p = calloc(1, sizeof(*p));

	if (!p)
		victim_die("calloc");
	snprintf(p->name, sizeof(p->name), "%s", name);
	p->around = around;
	if (around) {
		p->next = around->first;
		around->first = p;
	}
	return p;
}

__attribute__((noinline, noclone)) void *pool_alloc(struct pool *p, size_t size)
{
	struct block *b = malloc(sizeof(*b) + size);

	if (!b)
		victim_die("malloc");
	*b = (struct block){ p->blocks, size };
	p->blocks = b;
	return b + 1;
}

static struct block **place_of(struct pool *p, void *at)
{
	struct block **b = &p->blocks;

	while (*b + 1 != at)
		b = &(*b)->next;
	return b;
}

__attribute__((noinline, noclone)) void pool_give(struct pool *p, void *at)
{
	struct block **b = place_of(p, at), *gone = *b;

	*b = gone->next;
	free(gone);
}

__attribute__((noinline, noclone)) void *pool_grow(struct pool *p, void *at, size_t size)
{
	struct block **b = place_of(p, at), *grown = realloc(*b, sizeof(*grown) + size);

	if (!grown)
		victim_die("realloc");
	grown->size = size;
	*b = grown;
	return grown + 1;
}

static void leave(struct pool *p)
{
	struct pool **at = p->around ? &p->around->first : NULL;

	if (!at)
		return;
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	p->around = p->next = NULL;
}

static void drop_blocks(struct pool *p)
{
	while (p->blocks) {
		struct block *b = p->blocks;

		p->blocks = b->next;
		free(b);
	}
}

/* Not by calls of what is watched. */
static void drop(struct pool *p)
{
	while (p->first) {
		struct pool *inner = p->first;

		leave(inner);
		drop(inner);
		free(inner);
	}
	drop_blocks(p);
}

__attribute__((noinline, noclone)) void pool_destroy(struct pool *p)
{
	leave(p);
	drop(p);
	free(p);
}

__attribute__((noinline, noclone)) void pool_clear(struct pool *p)
{
	drop(p);
}

__attribute__((noinline, noclone)) void pool_clear_blocks(struct pool *p)
{
	drop_blocks(p);
}

__attribute__((noinline, noclone)) void pool_move(struct pool *to, struct pool *p)
{
	leave(p);
	p->around = to;
	p->next = to->first;
	to->first = p;
}

/* --- one thread --- */

static bool is_in(const struct pool *p, const struct pool *around)
{
	while (p && p != around)
		p = p->around;
	return p != NULL;
}

/* What is freed with @p is not among those that steps are about any more. */
static void forget(struct worker *w, const struct pool *p, bool itself)
{
	for (unsigned i = 0; i < POOLS; i++)
		if (w->pools[i] && (itself || w->pools[i] != p) && is_in(w->pools[i], p))
			w->pools[i] = NULL;
}

static struct pool *any(struct worker *w)
{
	struct pool *p = w->pools[victim_random(&w->rng) % POOLS];

	return p ? p : w->root;
}

static void make(struct worker *w)
{
	struct pool **free_one = NULL;

	for (unsigned i = 0; i < POOLS && !free_one; i++)
		if (!w->pools[i])
			free_one = &w->pools[i];
	if (!free_one)
		return;
	*free_one = pool_new(any(w), "a pool");
	w->created++;
}

static void move(struct worker *w)
{
	struct pool *p = any(w), *to = any(w);

	if (p != w->root && !is_in(to, p))
		pool_move(to, p);
}

static void destroy(struct worker *w)
{
	struct pool *p = any(w);

	if (p == w->root)
		return;
	forget(w, p, true);
	pool_destroy(p);
	w->destroyed++;
}

static void step(struct worker *w)
{
	uint64_t r = victim_random(&w->rng) % 100;
	struct pool *p = any(w);

	if (r < 60) {
		pool_alloc(p, 16 + victim_random(&w->rng) % 200);
		w->taken++;
	} else if (r < 70 && p->blocks) {
		pool_give(p, p->blocks + 1);
		w->given++;
	} else if (r < 76 && p->blocks) {
		pool_grow(p, p->blocks + 1, 16 + victim_random(&w->rng) % 2000);
	} else if (r < 86) {
		make(w);
	} else if (r < 90) {
		move(w);
	} else if (r < 94) {
		destroy(w);
	} else if (r < 96) {
		forget(w, p, false);
		pool_clear(p);
	} else if (r < 97) {
		pool_clear_blocks(p);
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;

	if (w->root)
		pool_destroy(w->root);
	memset(w->pools, 0, sizeof(w->pools));
	w->root = pool_new(NULL, "a root");
	w->taken = w->given = w->destroyed = 0;
	w->created = 1;
	for (unsigned i = 0; i < w->steps; i++)
		step(w);
	return NULL;
}

/* --- what there is --- */

struct sum {
	unsigned long blocks, pools, bytes;
};

static void add(const struct pool *p, struct sum *s)
{
	s->pools++;
	for (const struct block *b = p->blocks; b; b = b->next) {
		s->blocks++;
		s->bytes += b->size;
	}
	for (const struct pool *inner = p->first; inner; inner = inner->next)
		add(inner, s);
}

static void answer(void)
{
	struct sum s = { 0 };
	unsigned long taken = 0, created = 0, given = 0, destroyed = 0;

	for (unsigned i = 0; i < THREADS; i++) {
		if (workers[i].root)
			add(workers[i].root, &s);
		taken += workers[i].taken;
		created += workers[i].created;
		given += workers[i].given;
		destroyed += workers[i].destroyed;
	}
	printf("{\"blocks\": %lu, \"pools\": %lu, \"bytes\": %lu, \"taken\": %lu, \"created\": %lu, \"given\": %lu, "
	       "\"destroyed\": %lu}\n",
	       s.blocks, s.pools, s.bytes, taken, created, given, destroyed);
	fflush(stdout);
}

static void go(unsigned steps, uint64_t seed)
{
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i].steps = steps;
		workers[i].rng = seed * THREADS + i + 1;
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			victim_die("pthread_create");
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
}

static void clear(void)
{
	for (unsigned i = 0; i < THREADS; i++) {
		if (workers[i].root)
			pool_destroy(workers[i].root);
		workers[i].root = NULL;
	}
}

int main(void)
{
	char line[ORDER_MAX];
	const char *order;

	victim_ready();
	do {
		unsigned steps;
		unsigned long seed;

		order = victim_order(line);
		if (sscanf(order, "go %u %lu", &steps, &seed) == 2)
			go(steps, seed);
		else if (!strcmp(order, "clear"))
			clear();
		answer();
	} while (strcmp(order, "end"));
	return 0;
}

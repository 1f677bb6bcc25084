/* SPDX-License-Identifier: MIT */
/*
 * flood: see flood.h. If many blocks are pending, several walkers share a sweep, each with the next range of
 * blocks; if only a few are, one walker reads them all. The result does not depend on the order: a mark is
 * set once, no matter by which walker.
 */
#include "heap/reach/flood.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "heap/reach/walker.h"

#define FEW (WALKER_STACK / 2)
#define CHUNK (1u << 15)	/* blocks of a sweep for one walker at a time */
#define THREADS_MAX 4u
#define WORTH_THREADS 200000u	/* blocks */

/* Registers are in no memory of the snapshot: their words are copied. */
static void scan_registers(struct walker *w, const struct snapshot_thread *t)
{
	uint64_t regs[ROOT_REGISTERS];
	uint64_t vector;

	if (!t->known)
		return;
	root_registers(t, regs);
	walker_scan(w, regs, ROOT_REGISTERS, WALK_STRONG);
	for (size_t at = 0; t->vectors && at + sizeof(vector) <= t->nvectors; at += sizeof(vector)) {
		memcpy(&vector, t->vectors + at, sizeof(vector));
		walker_scan(w, &vector, 1, WALK_STRONG);
	}
}

/* Work that all walkers share: each takes the next piece until there is none. */
struct team {
	struct flood *f;
	struct walker *walkers;
	unsigned n;
	struct roots *roots;		/* the work: roots if not NULL, else a sweep */
	enum walk how;
	size_t next;			/* of the sweep */
	pthread_mutex_t lock;		/* of the roots */
};

struct member {
	struct team *team;
	struct walker *w;
	pthread_t thread;
	bool started;
};

static bool next_root(struct team *t, struct root *out)
{
	bool got;

	pthread_mutex_lock(&t->lock);
	got = roots_next(t->roots, out);
	pthread_mutex_unlock(&t->lock);
	return got;
}

/* The words that begin @shift bytes behind the aligned ones. */
static void scan_shifted(struct walker *w, const struct root *r, size_t shift)
{
	uint64_t words[512];
	const size_t all = (r->size + r->behind - shift) / 8;

	for (size_t i = 0; i < all; i += sizeof(words) / 8) {
		const size_t n = all - i < sizeof(words) / 8 ? all - i : sizeof(words) / 8;

		memcpy(words, r->bytes + shift + 8 * i, 8 * n);
		walker_scan(w, words, n, WALK_STRONG);
	}
}

static void scan_root(struct walker *w, const struct root *r)
{
	walker_scan(w, r->bytes, r->size / 8, WALK_STRONG);
	for (size_t shift = 1; r->code && shift < 8; shift++)
		scan_shifted(w, r, shift);
}

static void work(struct team *t, struct walker *w)
{
	const size_t n = t->f->ix->n;
	struct root r;
	size_t from;

	if (t->roots) {
		w->spill = true;
		while (next_root(t, &r))
			scan_root(w, &r);
		walker_flow(w, WALK_STRONG);
		return;
	}
	while ((from = __atomic_fetch_add(&t->next, CHUNK, __ATOMIC_RELAXED)) < n)
		walker_sweep(w, from, from + CHUNK < n ? from + CHUNK : n, t->how);
}

static void *work_of(void *arg)
{
	struct member *m = arg;

	work(m->team, m->w);
	return NULL;
}

/* A thread that cannot be started is not needed: the first walker is the calling thread itself. */
static void work_together(struct team *t)
{
	struct member members[THREADS_MAX] = { 0 };

	t->next = 0;
	for (unsigned i = 1; i < t->n; i++) {
		members[i] = (struct member){ .team = t, .w = &t->walkers[i] };
		members[i].started = pthread_create(&members[i].thread, NULL, work_of, &members[i]) == 0;
	}
	work(t, &t->walkers[0]);
	for (unsigned i = 1; i < t->n; i++)
		if (members[i].started)
			pthread_join(members[i].thread, NULL);
}

/*
 * Blocks are marked by one thread and read by another: only the sum counts, and it is moved to the first
 * walker.
 */
static int64_t all_pending(struct team *t)
{
	for (unsigned i = 1; i < t->n; i++) {
		t->walkers[0].pending += t->walkers[i].pending;
		t->walkers[i].pending = 0;
	}
	return t->walkers[0].pending;
}

/* Repeats until no block is pending. */
static void finish(struct team *t, enum walk how)
{
	t->roots = NULL;
	t->how = how;
	for (;;) {
		const int64_t pending = all_pending(t);

		if (pending > FEW) {
			work_together(t);
			continue;
		}
		if (!pending)
			break;
		walker_gather(&t->walkers[0]);
		walker_flow(&t->walkers[0], how);
	}
	t->walkers[0].spill = false;
}

static void from_roots(struct team *t, struct roots *roots)
{
	struct walker *w = &t->walkers[0];

	for (size_t i = 0; i < w->s->nthreads; i++)
		scan_registers(w, &w->s->threads[i]);
	walker_flow(w, WALK_STRONG);
	t->roots = roots;
	work_together(t);
	finish(t, WALK_STRONG);
}

static void from_hinted(struct team *t)
{
	struct walker *w = &t->walkers[0];

	for (size_t i = 0; i < w->f->ix->n; i++)
		if ((w->state[i] & FLOOD_NOT_LOST) == FLOOD_HINTED) {
			w->state[i] |= FLOOD_PENDING;
			w->pending++;
		}
	finish(t, WALK_ANY);
}

static int team_init(struct team *t, struct flood *f, unsigned n)
{
	memset(t, 0, sizeof(*t));
	t->f = f;
	pthread_mutex_init(&t->lock, NULL);
	t->walkers = calloc(n, sizeof(*t->walkers));
	if (!t->walkers)
		return -ENOMEM;
	while (t->n < n && walker_init(&t->walkers[t->n], f) == 0)
		t->n++;
	f->memory += t->n * (sizeof(*t->walkers) + WALKER_STACK * sizeof(uint32_t));
	return t->n ? 0 : -ENOMEM;
}

static void team_fini(struct team *t)
{
	for (unsigned i = 0; i < t->n; i++)
		walker_fini(&t->walkers[i]);
	free(t->walkers);
	pthread_mutex_destroy(&t->lock);
}

/* Half of the processors are left to the target, which runs meanwhile. */
static unsigned how_many(unsigned wanted, size_t nblocks)
{
	const long half = sysconf(_SC_NPROCESSORS_ONLN) / 2;

	if (!wanted)
		wanted = nblocks < WORTH_THREADS || half < 1 ? 1 : (unsigned)half;
	return wanted < THREADS_MAX ? wanted : THREADS_MAX;
}

int flood_run(struct flood *f, struct roots *roots, unsigned threads)
{
	struct team t;
	int err = team_init(&t, f, how_many(threads, f->ix->n));

	if (!err) {
		from_roots(&t, roots);
		from_hinted(&t);
	}
	team_fini(&t);
	return err;
}

/* One clique after the other: the order determines which block leads. */
int flood_lost(struct flood *f)
{
	struct team t;
	int err = team_init(&t, f, 1);

	for (uint32_t i = 0; i < f->ix->n && !err; i++) {
		if (f->state[i])
			continue;
		f->state[i] = FLOOD_LEADER;
		f->leader[i] = t.walkers[0].leader = i;
		walker_push(&t.walkers[0], i);
		walker_flow(&t.walkers[0], WALK_LOST);
		finish(&t, WALK_LOST);
	}
	team_fini(&t);
	return err;
}

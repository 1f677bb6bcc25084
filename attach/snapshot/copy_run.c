/* SPDX-License-Identifier: MIT */
#include "attach/snapshot/copy_run.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include "attach/snapshot/copy_buffer.h"

#define PAGE SNAPSHOT_PAGE
#define BATCH_PAGES 2048u	/* 8 MiB: so much is looked up at once, and copied by one thread */
#define BATCH_RUNS 256u
#define READ_BYTES (1u << 20)
#define REFUSALS 16u		/* pages in a row that cannot be read: the rest of the run is not tried */

/* --- before the stop --- */

int copy_run_measure(struct copy_plan *m, struct resident *r, struct copy_size *out)
{
	struct resident_run runs[BATCH_RUNS];
	uint64_t start = copy_buffer_spent_ns();

	*out = (struct copy_size){ 0 };
	for (size_t i = 0; i < m->nranges; i++) {
		struct copy_range *range = &m->ranges[i];

		range->bytes = 0;
		for (taddr at = range->lo; at < range->hi;) {
			int n = resident_next(r, &at, range->hi, range->how == COPY_WRITTEN, BATCH_PAGES,
					      runs, BATCH_RUNS);

			if (n < 0)
				return n;
			out->runs += n;
			for (int j = 0; j < n; j++)
				range->bytes += runs[j].swapped ? 0 : runs[j].hi - runs[j].lo;
		}
		out->bytes += range->bytes;
		out->shared += range->how == COPY_SHARED ? range->bytes : 0;
	}
	out->scan_ns = copy_buffer_spent_ns() - start;
	return 0;
}

unsigned copy_run_workers(void)
{
	cpu_set_t set;
	unsigned n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

	return n < COPY_WORKERS ? n : COPY_WORKERS;
}

/* --- the copying threads --- */

struct batch {
	struct resident_run runs[BATCH_RUNS];
	size_t piece[BATCH_RUNS];	/* of each */
	int n;
	bool forced;
};

/* Give each run of the batch a piece, and space in the copy; under the lock. */
static int place(struct copy_run *c, struct batch *b)
{
	for (int i = 0; i < b->n; i++) {
		const struct resident_run *run = &b->runs[i];
		uint64_t size = run->hi - run->lo;

		if (c->npieces == c->piece_room || (!run->swapped && size > c->room_bytes - c->used))
			return -ENOBUFS;
		b->piece[i] = c->npieces;
		c->pieces[c->npieces++] =
			(struct copy_piece){ run->lo, size, run->swapped ? COPY_SWAPPED : c->used };
		if (!run->swapped)
			c->used += size;
	}
	return 0;
}

/* The next pages to copy. false: there are none, or an error occurred. */
static bool next_batch(struct copy_run *c, struct batch *b)
{
	bool more = false;

	pthread_mutex_lock(&c->lock);
	while (!c->error && !more && c->range < c->plan->nranges) {
		const struct copy_range *range = &c->plan->ranges[c->range];

		if (c->at < range->lo)
			c->at = range->lo;
		if (c->at >= range->hi) {
			c->range++;
			continue;
		}
		b->forced = range->how == COPY_FORCED;
		b->n = resident_next(c->resident, &c->at, range->hi, range->how == COPY_WRITTEN, BATCH_PAGES,
				     b->runs, BATCH_RUNS);
		c->error = b->n < 0 ? b->n : !c->still_stopped(c->ctx) ? -ETIMEDOUT : place(c, b);
		more = b->n > 0;
	}
	more = more && !c->error;
	pthread_mutex_unlock(&c->lock);
	return more;
}

static void fail(struct copy_run *c, int error)
{
	pthread_mutex_lock(&c->lock);
	if (!c->error)
		c->error = error;
	pthread_mutex_unlock(&c->lock);
}

/* [lo, hi) of a piece could not be read: the piece is cut in three. */
static void mark_missing(struct copy_run *c, size_t piece, taddr lo, taddr hi)
{
	struct copy_piece p;

	pthread_mutex_lock(&c->lock);
	p = c->pieces[piece];
	if (c->piece_room - c->npieces < 2) {
		c->error = -ENOBUFS;
	} else {
		/*
		 * the part before is appended; the part after keeps the index, as more of it may be missing
		 */
		c->pieces[c->npieces++] = (struct copy_piece){ lo, hi - lo, COPY_MISSING };
		if (lo > p.lo)
			c->pieces[c->npieces++] = (struct copy_piece){ p.lo, lo - p.lo, p.at };
		c->pieces[piece] = (struct copy_piece){ hi, p.lo + p.size - hi, p.at + (hi - p.lo) };
	}
	pthread_mutex_unlock(&c->lock);
}

/* Read @n bytes at @from into @to. How many were read; 0 or -errno if none. */
static ssize_t read_some(struct copy_run *c, bool forced, taddr from, uint8_t *to, uint64_t n)
{
	struct iovec here = { to, n }, there = { (void *)(uintptr_t)from, n };
	ssize_t got;

	if (forced && c->mem < 0)
		return -EACCES;
	if (forced)
		got = pread(c->mem, to, n, (off_t)from);
	else
		got = process_vm_readv(c->tid, &here, 1, &there, 1, 0);
	return got < 0 ? -errno : got;
}

/*
 * Copy one run. A page that cannot be read is left out; after some in a row the rest of the run is left out,
 * since there may be millions (memory of a device).
 */
static void copy_pages(struct copy_run *c, const struct resident_run *run, size_t piece, uint64_t at,
		       bool forced)
{
	unsigned refused = 0;

	for (taddr from = run->lo; from < run->hi;) {
		uint64_t left = run->hi - from, n = left < READ_BYTES ? left : READ_BYTES;
		uint8_t *to = c->room + at + (from - run->lo);
		ssize_t got = c->still_stopped(c->ctx) ? read_some(c, forced, from, to, n) : -ETIMEDOUT;

		if (got == -ESRCH || got == -ETIMEDOUT || got == -EPERM) {
			fail(c, got);
			return;
		}
		if (got >= (ssize_t)PAGE) {
			from += got / PAGE * PAGE;
			refused = 0;
			continue;
		}
		n = ++refused == REFUSALS ? left : PAGE;
		mark_missing(c, piece, from, from + n);
		from += n;
	}
}

/* Copy all of a batch by one call; if that fails, which is rare, run by run. */
static void copy_batch(struct copy_run *c, const struct batch *b)
{
	struct iovec there[BATCH_RUNS], here = { NULL, 0 };
	int n = 0;

	for (int i = 0; i < b->n; i++) {
		if (b->runs[i].swapped)
			continue;
		if (!n)
			here.iov_base = c->room + c->pieces[b->piece[i]].at;
		there[n++] = (struct iovec){
			(void *)(uintptr_t)b->runs[i].lo, b->runs[i].hi - b->runs[i].lo,
		};
		here.iov_len += b->runs[i].hi - b->runs[i].lo;
	}
	if (!n || (!b->forced && process_vm_readv(c->tid, &here, 1, there, n, 0) == (ssize_t)here.iov_len))
		return;
	for (int i = 0; i < b->n; i++)
		if (!b->runs[i].swapped)
			copy_pages(c, &b->runs[i], b->piece[i], c->pieces[b->piece[i]].at, b->forced);
}

static void *worker(void *arg)
{
	struct copy_run *c = arg;
	struct batch b;
	bool cancelled;

	/* the target waits for this thread; a failure does not matter */
	(void)setpriority(PRIO_PROCESS, gettid(), -10);
	pthread_mutex_lock(&c->lock);
	while (!c->started && !c->cancelled)
		pthread_cond_wait(&c->go, &c->lock);
	cancelled = c->cancelled;
	pthread_mutex_unlock(&c->lock);
	while (!cancelled && next_batch(c, &b))
		if (c->still_stopped(c->ctx))
			copy_batch(c, &b);
		else
			fail(c, -ETIMEDOUT);
	return NULL;
}

static void wake_workers(struct copy_run *c, bool cancelled)
{
	pthread_mutex_lock(&c->lock);
	c->started = !cancelled;
	c->cancelled = cancelled;
	pthread_cond_broadcast(&c->go);
	pthread_mutex_unlock(&c->lock);
}

static void join(struct copy_run *c)
{
	for (unsigned i = 0; i < c->nworkers; i++)
		pthread_join(c->workers[i], NULL);
	c->nworkers = 0;
}

static int start_workers(struct copy_run *c)
{
	unsigned n = copy_run_workers();
	sigset_t all, before;
	int r = 0;

	/* the main thread handles the program's signals */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (r == 0 && c->nworkers < n) {
		r = -pthread_create(&c->workers[c->nworkers], NULL, worker, c);
		c->nworkers += r == 0;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	/* one is enough; EAGAIN: no memory for its stack */
	return c->nworkers ? 0 : r == -EAGAIN ? -ENOMEM : r;
}

/* --- all of it --- */

int copy_run_open(struct copy_run *c, const struct copy_plan *m, struct resident *r, pid_t tid,
		  const struct copy_size *size, uint64_t extra, uint64_t reserve)
{
	int err = -ENOMEM;

	*c = (struct copy_run){ .plan = m, .resident = r, .tid = tid, .mem = -1 };
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->go, NULL);
	c->ready_bytes = (size->bytes + extra + COPY_BUFFER_PAGE - 1) & ~(uint64_t)(COPY_BUFFER_PAGE - 1);
	c->piece_room = size->runs + size->runs / 4 + m->nranges + (extra + reserve) / READ_BYTES + 1024;
	c->room = copy_buffer_make(c->ready_bytes, &reserve);
	c->room_bytes = c->ready_bytes + reserve;
	c->pieces = malloc(c->piece_room * sizeof(*c->pieces));
	if (!c->room || !c->pieces)
		goto fail;
	memset(c->pieces, 0, c->piece_room * sizeof(*c->pieces));
	err = start_workers(c);
	if (err == 0)
		return 0;
fail:
	copy_run_close(c);
	return err;
}

void copy_run_close(struct copy_run *c)
{
	wake_workers(c, true);
	join(c);
	if (c->room)
		munmap(c->room, c->room_bytes);
	free(c->pieces);
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->go);
	*c = (struct copy_run){ .mem = -1 };
}

void copy_run_begin(struct copy_run *c, int mem, bool (*still_stopped)(void *ctx), void *ctx)
{
	c->mem = mem;
	c->still_stopped = still_stopped;
	c->ctx = ctx;
	wake_workers(c, false);
}

int copy_run_end(struct copy_run *c)
{
	join(c);
	return c->error;
}

/* Reserve space for @n entries of @size. */
static int reserve(void *array, size_t *room, size_t n, size_t size)
{
	void **p = array;
	void *grown = realloc(*p, n * size);

	if (!grown)
		return -ENOMEM;
	*p = grown;
	*room = n;
	return 0;
}

int copy_run_reserve(const struct copy_run *c, struct snapshot *s)
{
	int r = reserve(&s->pieces, &s->piece_room, c->piece_room, sizeof(*s->pieces));

	if (r == 0)
		r = reserve(&s->holes, &s->hole_room, c->piece_room, sizeof(*s->holes));
	if (r == 0)
		r = reserve(&s->owned, &s->owned_room, 4, sizeof(*s->owned));
	return r;
}

void copy_run_move(struct copy_run *c, struct snapshot *s)
{
	uint64_t used = (c->used + PAGE - 1) & ~(uint64_t)(PAGE - 1);

	/* space was reserved for all */
	for (size_t i = 0; i < c->npieces; i++) {
		const struct copy_piece *p = &c->pieces[i];

		if (p->at == COPY_SWAPPED || p->at == COPY_MISSING)
			(void)!snapshot_add_hole(s, p->lo, p->lo + p->size);
		else
			(void)!snapshot_add_piece(s, p->lo, p->size, c->room + p->at);
		if (p->at == COPY_SWAPPED)
			s->swapped += p->size;
		else if (p->at == COPY_MISSING)
			s->missing += p->size;
	}
	if (used < c->room_bytes)
		munmap(c->room + used, c->room_bytes - used);
	if (used)
		(void)!snapshot_own(s, c->room, used);
	c->room = NULL;
}

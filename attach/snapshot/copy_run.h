/* SPDX-License-Identifier: MIT */
/*
 * copy_run: copies the pages of a copy plan out of a process whose threads are stopped.
 *
 *	copy_run_open     space for the bytes, populated with large pages; the worker threads wait
 *	copy_run_begin    (all threads of the target are stopped) the workers start: each looks up the next
 *	                  few megabytes of resident pages, one worker at a time, and copies them
 *	copy_run_end      they are done
 *	copy_run_move     pieces and holes into a snapshot, with the memory
 *
 * Copying into fresh memory runs at 0.5 GB/s, into populated memory at 3 and more, in pieces of a mebibyte.
 * So all is allocated before any thread is stopped, with some space for growth. It is followed by addresses
 * that are not populated: if the target has grown beyond the space, it is stopped for longer, but need not be
 * stopped twice.
 *
 * Memory is read only while `still_stopped` returns that all threads are stopped: if a pause has ended by
 * itself (its limit, the keeper's death), reading a page that is not there any more would make one.
 */
#ifndef MM_COPY_RUN_H
#define MM_COPY_RUN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "attach/snapshot/copy_plan.h"
#include "attach/snapshot/resident.h"
#include "heap/snapshot/snapshot.h"

#define COPY_WORKERS 2

/* A piece of memory that was found, in the order of addresses. */
struct copy_piece {
	taddr lo;
	uint64_t size;
	uint64_t at;		/* its offset in the copy, or one of: */
};
#define COPY_SWAPPED UINT64_MAX
#define COPY_MISSING (UINT64_MAX - 1)

struct copy_size {
	uint64_t bytes;		/* resident */
	uint64_t shared;	/* of these, in shared mappings */
	uint64_t runs;
	uint64_t scan_ns;	/* how long it took to measure that */
};

struct copy_run {
	const struct copy_plan *plan;
	struct resident *resident;
	pid_t tid;
	int mem;			/* /proc/TID/mem; -1: pages that need it are missing */
	bool (*still_stopped)(void *ctx);
	void *ctx;
	uint8_t *room;
	uint64_t room_bytes, ready_bytes;	/* ready_bytes: how many are populated */
	struct copy_piece *pieces;
	size_t npieces, piece_room;
	pthread_t workers[COPY_WORKERS];
	unsigned nworkers;
	pthread_mutex_t lock;		/* for all below, and npieces */
	pthread_cond_t go;
	bool started;
	bool cancelled;			/* nothing is copied: the workers end */
	size_t range;			/* what to look up next */
	taddr at;
	uint64_t used;
	int error;
};

/* Count what is resident in @m's ranges now, also for each shared range. 0 or -errno. */
must_check int copy_run_measure(struct copy_plan *m, struct resident *r, struct copy_size *out);

/* How many threads will copy. */
unsigned copy_run_workers(void);

/*
 * Allocate space for @size and @extra bytes more, and for @reserve bytes that are not populated; start the
 * threads. @m, @r and the rest are used until close. 0 or -errno.
 */
must_check int copy_run_open(struct copy_run *c, const struct copy_plan *m, struct resident *r, pid_t tid,
			     const struct copy_size *size, uint64_t extra, uint64_t reserve);
void copy_run_close(struct copy_run *c);

/*
 * Let the workers begin (the process is stopped, the plan was read in this stop), and wait for their end. 0;
 * -ENOBUFS: it did not fit; -ETIMEDOUT: @still_stopped returned false; -ESRCH; -errno.
 */
void copy_run_begin(struct copy_run *c, int mem, bool (*still_stopped)(void *ctx), void *ctx);
must_check int copy_run_end(struct copy_run *c);

/* Reserve space in @s for what copy_run_move will put there, so that it cannot fail. 0 or -ENOMEM. */
must_check int copy_run_reserve(const struct copy_run *c, struct snapshot *s);

/* Pieces and memory belong to @s afterwards. */
void copy_run_move(struct copy_run *c, struct snapshot *s);

#endif

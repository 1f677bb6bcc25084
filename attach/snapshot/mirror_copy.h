/* SPDX-License-Identifier: MIT */
/*
 * mirror_copy: copies the pages that a mirror names out of a process whose threads are stopped.
 *
 *	mirror_copy_open     space for the bytes, populated with large pages; the threads that will copy wait
 *	mirror_copy_begin    (all are stopped) the threads start: one looks for the next few megabytes of
 *	                     resident pages, the others copy
 *	mirror_copy_end      they are done
 *	mirror_copy_give     pieces and holes into a snapshot, with the memory
 *
 * Copying into fresh memory runs at 0.5 GB/s, into populated memory at 3 and more, in pieces of a mebibyte.
 * So all is made ready before any thread is stopped, with some space to grow. It is followed by addresses
 * that are not populated: if the target has grown beyond the space, it is stopped for longer, but need not be
 * stopped twice.
 *
 * Memory is read only while `still` says that all threads are stopped: if a pause has ended without us (its
 * limit, the keeper's death), reading a page that is not there any more would make one.
 */
#ifndef MM_MIRROR_COPY_H
#define MM_MIRROR_COPY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "attach/snapshot/mirror.h"
#include "attach/snapshot/resident.h"
#include "heap/snapshot/snapshot.h"

#define MIRROR_WORKERS 2

/* A piece of memory that was found, in the order of addresses. */
struct mirror_piece {
	taddr lo;
	uint64_t size;
	uint64_t at;		/* its offset in the copy, or one of: */
};
#define MIRROR_SWAPPED UINT64_MAX
#define MIRROR_MISSING (UINT64_MAX - 1)

struct mirror_size {
	uint64_t bytes;		/* resident */
	uint64_t shared;	/* of these, in shared mappings */
	uint64_t runs;
	uint64_t scan_ns;	/* how long it took to find that out */
};

struct mirror_copy {
	const struct mirror *mirror;
	struct resident *resident;
	pid_t tid;
	int mem;			/* /proc/TID/mem; -1: pages that need it are missing */
	bool (*still)(void *ctx);
	void *ctx;
	uint8_t *room;
	uint64_t room_bytes, ready_bytes;	/* ready_bytes: how many are populated */
	struct mirror_piece *pieces;
	size_t npieces, piece_room;
	pthread_t workers[MIRROR_WORKERS];
	unsigned nworkers;
	pthread_mutex_t lock;		/* for all below, and npieces */
	pthread_cond_t go;
	bool may_go;
	bool never;			/* the copy is cancelled: they end */
	size_t range;			/* where to look next */
	taddr at;
	uint64_t used;
	int error;
};

/* Count what is resident in @m's ranges now, also for each shared range. 0 or -errno. */
must_check int mirror_measure(struct mirror *m, struct resident *r, struct mirror_size *out);

/* How many threads will copy. */
unsigned mirror_copy_workers(void);

/*
 * Allocate space for @size and @extra bytes more, and for @reserve bytes that are not populated; start the
 * threads. @m, @r and the rest are used until close. 0 or -errno.
 */
must_check int mirror_copy_open(struct mirror_copy *c, const struct mirror *m, struct resident *r, pid_t tid,
				const struct mirror_size *size, uint64_t extra, uint64_t reserve);
void mirror_copy_close(struct mirror_copy *c);

/*
 * Let the threads begin (the process is stopped, @m was read in this stop), and wait for their end. 0;
 * -ENOBUFS: it did not fit; -ETIMEDOUT: @still returned false; -ESRCH; -errno.
 */
void mirror_copy_begin(struct mirror_copy *c, int mem, bool (*still)(void *ctx), void *ctx);
must_check int mirror_copy_end(struct mirror_copy *c);

/* Reserve space in @s for what mirror_copy_give will put there, so that it cannot fail. 0 or -ENOMEM. */
must_check int mirror_copy_reserve(const struct mirror_copy *c, struct snapshot *s);

/* Everything belongs to @s afterwards. */
void mirror_copy_give(struct mirror_copy *c, struct snapshot *s);

#endif

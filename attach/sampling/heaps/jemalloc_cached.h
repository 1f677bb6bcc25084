/* SPDX-License-Identifier: MIT */
/*
 * jemalloc_cached: which of some blocks are in a cache of a thread, read while all threads run.
 *
 * The caches are listed again every second (thread_tls.h): a new thread's is not known until then, nor is
 * one that the program has made itself (tcache.create). Of each cache only the bins of the size classes in
 * question are read, their heads and slots together.
 *
 * What is read is not of one moment. While a thread puts a block into its cache, the topmost slot has
 * another one for an instruction; and while it empties the cache, blocks are in it that are free already,
 * and may belong to another thread. So a block counts as cached only if two readings, some microseconds
 * apart, have found it.
 */
#ifndef MM_JEMALLOC_CACHED_H
#define MM_JEMALLOC_CACHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/sampling/blocks/remote_read.h"
#include "base/addrmap.h"
#include "base/cleanup.h"
#include "heap/jemalloc/jemalloc_cache.h"
#include "heap/jemalloc/jemalloc_map.h"

struct jemalloc_cached {
	pid_t pid;
	const struct jemalloc_version *version;
	int64_t offset;			/* from a thread's struct pthread to its cache; 0: not known yet */
	struct cached_thread {
		struct jemalloc_cache_bin bins[JEMALLOC_CACHE_CLASSES];
	} *caches;
	size_t n, room;
	uint64_t listed_ns;		/* when */
	bool wanted[JEMALLOC_CACHE_CLASSES];
	/* in question: address -> in which readings it was in a cache, a bit each */
	struct addrmap blocks;
	/* the reading that is under way */
	struct remote_read_piece *pieces;
	size_t npieces, piece_room;
	uint64_t *words;
	size_t nwords, word_room;
	unsigned readings;
};

void jemalloc_cached_init(struct jemalloc_cached *c, pid_t pid, const struct jemalloc_map *map);
void jemalloc_cached_fini(struct jemalloc_cached *c);

/* List the caches, unless that was done within the last second. 0; -ENOENT: there are none; or -errno. */
must_check int jemalloc_cached_list(struct jemalloc_cached *c);

/* Begin with no blocks in question. */
void jemalloc_cached_begin(struct jemalloc_cached *c);

/* The block of @bytes at @at is in question. 0 or -ENOMEM. */
must_check int jemalloc_cached_ask(struct jemalloc_cached *c, taddr at, uint64_t bytes);

/* Read the caches. To be called twice. 0 or as remote_read_now(). */
must_check int jemalloc_cached_read(struct jemalloc_cached *c, struct remote_read *g);

enum jemalloc_cached_answer { CACHED_NO, CACHED_UNSURE, CACHED_YES };

enum jemalloc_cached_answer jemalloc_cached_answer(const struct jemalloc_cached *c, taddr at);

#endif

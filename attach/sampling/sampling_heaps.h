/* SPDX-License-Identifier: MIT */
/*
 * sampling_heaps: the allocators of the target that can answer what became of a block
 * (attach/sampling/blocks/block_heap.h): which those are, and whose a block is. A program may have both: one
 * whose Rust code uses a jemalloc of its own, say. That jemalloc may give out its first block only after the
 * watch has begun: before, there is no page map. So blocks that are of no known heap are counted, and as long
 * as there are any, jemalloc is looked for again.
 */
#ifndef MM_SAMPLING_HEAPS_H
#define MM_SAMPLING_HEAPS_H

#include <stdbool.h>
#include <sys/types.h>

#include "attach/sampling/blocks/block_heap.h"
#include "base/cleanup.h"

struct modules;

struct sampling_heaps {
	struct block_heap *glibc;	/* NULL: malloc is not glibc's */
	struct block_heap *other;	/* malloc's, or one beside glibc's; NULL: there is none */
	uint64_t strange;		/* blocks of no known heap since the last look for a second one */
	uint32_t looks;			/* how many more there are */
};

/* 0; -ENOTSUP (logged): what malloc gives out is of no heap that can answer; -ENOMEM. */
must_check int sampling_heaps_open(pid_t pid, const struct modules *ms, struct sampling_heaps *out);
void sampling_heaps_close(struct sampling_heaps *h);

/* The heap of malloc alone, if it is not glibc's and answers at once; NULL. The caller's to free (block_heap_free). */
struct block_heap *sampling_heaps_of_malloc(pid_t pid, const struct modules *ms);

/* Describe a block that was just given out. false: it is of no heap that is known. */
bool sampling_heaps_born(struct sampling_heaps *h, const struct block_hit *hit, struct block_birth *out);

/* To be called now and then: looks for a jemalloc that is not known yet, if there were such blocks. */
void sampling_heaps_again(struct sampling_heaps *h, pid_t pid);

#endif

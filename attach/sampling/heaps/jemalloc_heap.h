/* SPDX-License-Identifier: MIT */
/*
 * jemalloc_heap: what jemalloc (5.2, 5.3) answers about its blocks (block_heap.h), read from outside in two
 * steps for many blocks at once, in two calls of process_vm_readv for each kilobyte of pieces:
 *
 *	first	elements of the page map: class and extent; the blocks' first words; threads' caches
 *	second	extents: of a slab, the bitmap; caches once more
 *
 *	another class, or none; the region's bit says free	gone, for certain
 *	in a cache, in both readings				gone
 *	in one of them only					not known this time
 *
 * jemalloc writes nothing into a block that is freed. So a word that is what the hit has read when the
 * block was given out was not written by its owner, and does not show that it is the same block
 * (chunkstate.link, .blank).
 */
#ifndef MM_JEMALLOC_HEAP_H
#define MM_JEMALLOC_HEAP_H

#include <sys/types.h>

#include "attach/sampling/blocks/block_heap.h"

/* As block_heap.h has it. */
must_check int jemalloc_heap_open(pid_t pid, struct block_heap_found *out);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * mimalloc_heap: what mimalloc (2.0.9 to 2.1.2) answers about its blocks (block_heap.h), read from outside, for
 * many blocks at once:
 *
 *	first	the cookies of their segments, and their slices
 *	second	their pages, and their first words
 *	then	only of blocks whose word 0 may be a link: the lists of their pages and heaps (free_lists.h)
 *
 *	no page has blocks there, or it has those of another size	gone, for certain
 *	in a list of free blocks, in two readings			gone
 *	word 0 is no link						in use: free overwrites it with one
 *	word 0 is one, and no list has it				in use
 *	the lists were changing, or word 0 was				not known this time
 */
#ifndef MM_MIMALLOC_HEAP_H
#define MM_MIMALLOC_HEAP_H

#include <sys/types.h>

#include "attach/sampling/blocks/block_heap.h"

/* As block_heap.h has it. */
must_check int mimalloc_heap_open(pid_t pid, struct block_heap_found *out);

#endif

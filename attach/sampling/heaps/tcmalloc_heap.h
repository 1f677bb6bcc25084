/* SPDX-License-Identifier: MIT */
/*
 * tcmalloc_heap: what tcmalloc (gperftools 2.8 and later) answers about its blocks (block_heap.h), read from
 * outside, for many blocks at once:
 *
 *	first	elements of the page map, and the blocks' first words
 *	second	spans: class, free or not; the elements that word 0 leads to
 *	third	the spans of these: is word 0 a link to a block of the same class, or 0?
 *	then	only of blocks whose word 0 is: all lists of their class (free_lists.h)
 *
 *	no span in use has a block there, or one of another size	gone, for certain
 *	in a list of free blocks, in two readings			gone
 *	word 0 is no link						in use: free overwrites it with one
 *	word 0 is one, and no list has it				in use
 *	the lists were changing, or word 0 was				not known this time
 */
#ifndef MM_TCMALLOC_HEAP_H
#define MM_TCMALLOC_HEAP_H

#include <sys/types.h>

#include "attach/sampling/blocks/block_heap.h"

/* As block_heap.h has it. */
must_check int tcmalloc_heap_open(pid_t pid, struct block_heap_found *out);

#endif

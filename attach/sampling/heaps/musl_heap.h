/* SPDX-License-Identifier: MIT */
/*
 * musl_heap: what musl's malloc (1.2.1 and later) answers about its blocks (block_heap.h). The four bytes before
 * a block, its head, are the same as long as it is in use, and free overwrites them before all else. So a look
 * reads these and the first words:
 *
 *	the head has changed		gone, for certain
 *	its page was returned		gone
 *
 * When a block is given out, its head must lead to a group, that to its meta, and the meta back to the group.
 * Free does not touch the first words (owner_words.h).
 */
#ifndef MM_MUSL_HEAP_H
#define MM_MUSL_HEAP_H

#include <sys/types.h>

#include "attach/sampling/blocks/block_heap.h"

/* As block_heap.h has it. */
must_check int musl_heap_open(pid_t pid, struct block_heap_found *out);

#endif

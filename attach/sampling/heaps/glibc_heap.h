/* SPDX-License-Identifier: MIT */
/*
 * glibc_heap: what glibc's malloc answers about its blocks (block_heap.h): in the words around a block's head
 * and in its first words. heap/glibc/chunkstate.h says what they mean, and why each sign is certain.
 */
#ifndef MM_GLIBC_HEAP_H
#define MM_GLIBC_HEAP_H

#include "attach/sampling/blocks/block_heap.h"

/* 0 or -ENOMEM. */
must_check int glibc_heap_new(struct block_heap **out);

#endif

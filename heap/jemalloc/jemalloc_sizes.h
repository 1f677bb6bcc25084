/* SPDX-License-Identifier: MIT */
/*
 * jemalloc_sizes: the size classes of jemalloc with pages of 4 KiB and a quantum of 16, as on x86-64: 8, 16, 32,
 * 48, 64, and from there on four in each doubling. Pure.
 */
#ifndef MM_JEMALLOC_SIZES_H
#define MM_JEMALLOC_SIZES_H

#include <stdint.h>

#define JEMALLOC_SMALL 36u	/* classes whose blocks are regions of slabs; the last is 14336 */
#define JEMALLOC_SIZES 232u	/* all of them: up to 7 << 60 */

/* Usable bytes of class @index; 0: there is no such class. */
uint64_t jemalloc_size(unsigned index);

#endif

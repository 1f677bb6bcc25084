/* SPDX-License-Identifier: MIT */
/*
 * jemalloc_census: every block of jemalloc (5.2 and 5.3, in a library or in the program itself) that is in use,
 * from a snapshot, without symbols.
 *
 *	writable data of a file ──▶ the root of the page map ──▶ leaves ──▶ extents, in the order of addresses
 *	                                                                       │
 *	                                       slabs: regions, and a bitmap of the free ones; or one large block
 *	                                                                       │
 *	threads' TLS ──▶ caches: blocks that are free, though their slab has them as in use ──▶ less these
 *
 * The page map is recognised by what it leads to: extents whose own address is that of their element. Where a
 * thread was at work, so that map, slabs and caches contradict each other, the place counts as unsure. What the
 * arenas themselves have counted for each size class is compared with what was found.
 */
#ifndef MM_JEMALLOC_CENSUS_H
#define MM_JEMALLOC_CENSUS_H

#include "base/cleanup.h"
#include "heap/census.h"
#include "heap/snapshot/snapshot.h"

/* A `take` of heap/allocators.h. */
must_check int jemalloc_census(const struct snapshot *s, struct census *c);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * glibc_census: every block of glibc's malloc that is in use, from a snapshot, without symbols of static data.
 *
 *	libc's writable data ──▶ main_arena ──▶ next ──▶ the other arenas
 *	                            │                        │
 *	                  top, system_mem: the main heap   heap_info at multiples of 64 MiB
 *	                            └───────┬────────────────┘
 *	                       walk: chunk by chunk, by size        mappings less heap extents: mmapped chunks
 *	                            │
 *	            less the free ones: bins, fastbins, tcaches of all threads, top
 *
 * The layout (glibc 2.26 to 2.43, and later ones like it) is recognised by invariants: bins that point at
 * themselves, a ring of arenas that closes, a top at the end of the sizes. Each step is checked.
 */
#ifndef MM_GLIBC_CENSUS_H
#define MM_GLIBC_CENSUS_H

#include "base/cleanup.h"
#include "heap/census.h"
#include "heap/snapshot/snapshot.h"

/* A `take` of heap/allocators.h. */
must_check int glibc_census(const struct snapshot *s, struct census *c);

#endif

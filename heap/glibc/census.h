/* SPDX-License-Identifier: MIT */
/*
 * census: every block of glibc's malloc that is in use, from a snapshot, without symbols of static data.
 *
 *	libc's writable data ──▶ main_arena ──▶ next ──▶ the other arenas
 *	                            │                        │
 *	                  top, system_mem: the main heap   heap_info at multiples of 64 MiB
 *	                            └───────┬────────────────┘
 *	                       walk: chunk by chunk, by size        mappings less heap extents: mmapped chunks
 *	                            │
 *	            less the free ones: bins, fastbins, tcaches of all threads, top
 *
 * What the layout is (glibc 2.26 to 2.43 and later ones alike) is found by what holds: bins that point at
 * themselves, a ring of arenas that closes, a top where the sizes lead to. What is not recognised is said, and nothing guessed.
 * Each step is checked: where the heap is corrupt, `problem` says at which address and what, and all that was found
 * so far stands.
 */
#ifndef MM_CENSUS_H
#define MM_CENSUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "heap/block.h"
#include "heap/snapshot/snapshot.h"

/* One of the allocator's extents: its bytes are blocks and the allocator's own words, and nobody's root. */
struct census_area {
	taddr lo, hi;
	uint32_t arena;		/* CENSUS_MMAPPED: one mmapped chunk */
};
#define CENSUS_MMAPPED UINT32_MAX

struct census_sum {
	uint64_t blocks, bytes;		/* bytes: chunk sizes, with the allocator's header */
};

struct census_arena {
	taddr at;			/* of its struct malloc_state; [0] is main_arena */
	uint64_t system_bytes;		/* what it says that it has from the system */
	uint64_t walked_bytes;		/* what the walk has covered: the same, if all is well */
	struct census_sum used, fast, tcache, bins;
	uint64_t top_bytes;
	uint64_t other_bytes;		/* heads, fenceposts, and the like */
};

/* Where and why the census is not whole. */
struct census_problem {
	taddr at;			/* 0: none */
	char what[160];
};

struct census {
	bool known;			/* glibc's malloc was found and its layout recognised; else `problem.what` says why not, and nothing else is set */
	char layout[64];		/* "glibc 2.32 to 2.41" */
	taddr main_arena;
	size_t main_arena_size;
	struct block *blocks;		/* in use, sorted; those the allocator uses itself (tcaches, arena heads) are not among them */
	size_t nblocks, block_room;
	struct block *own;		/* the allocator's and the loader's own: roots or nothing, never listed: sorted */
	size_t nown;
	struct census_area *areas;	/* sorted, none overlaps */
	size_t nareas;
	struct census_arena *arenas;
	size_t narenas;
	struct census_sum mmapped;	/* chunks with a mapping of their own, which walked */
	uint64_t mmapped_claimed;	/* mp_.mmapped_mem, what the allocator itself says; UINT64_MAX: not found */
	uint64_t mmapped_chunks_claimed;	/* mp_.n_mmaps, found with it */
	size_t others;			/* mallocs of glibc that are in use beside this one (dlmopen): their memory is not listed */
	uint64_t others_bytes;		/* that they have from the system */
	size_t between;			/* threads that may be inside of malloc: what they do is counted by the allocator before or after */
	uint64_t foreign_bytes;		/* between pieces of the main heap: somebody else's sbrk */
	uint64_t unseen_bytes;		/* of heaps: behind a corrupt chunk, or not in the snapshot */
	size_t unsure;			/* places where a thread was at work, and how far that goes was guessed: better taken again */
	size_t repaired;		/* places where a chunk was just being cut off or joined, and what had been there before was still to be seen */
	struct census_problem problem;	/* the first */
	size_t nproblems;
};

/* 0 whatever was found (see `known`, `problem`); -ENOMEM. */
must_check int census_take(const struct snapshot *s, struct census *out);
void census_fini(struct census *c);

/* The allocator's extent that holds @at; NULL: none. */
const struct census_area *census_area_at(const struct census *c, taddr at);

/* Do the allocator's own figures and ours agree, in each arena and for mmapped chunks? */
bool census_adds_up(const struct census *c);

#endif

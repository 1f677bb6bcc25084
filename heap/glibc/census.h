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
 * The layout (glibc 2.26 to 2.43, and later ones like it) is recognised by invariants: bins that point at
 * themselves, a ring of arenas that closes, a top at the end of the sizes. If it is not recognised, that is
 * reported; nothing is guessed. Each step is checked: if the heap is corrupt, `problem` has the address and
 * the reason, and everything found so far remains valid.
 */
#ifndef MM_CENSUS_H
#define MM_CENSUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "heap/block.h"
#include "heap/snapshot/snapshot.h"

/*
 * One of the allocator's extents: its bytes are blocks and the allocator's own words, and none of them is a
 * root.
 */
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
	uint64_t system_bytes;		/* memory from the system, by its own count */
	uint64_t walked_bytes;		/* memory that the walk has covered: the same, if all is well */
	struct census_sum used, fast, tcache, bins;
	uint64_t top_bytes;
	uint64_t other_bytes;		/* heads, fenceposts, and the like */
};

/* Where and why the census is incomplete. */
struct census_problem {
	taddr at;			/* 0: none */
	char what[160];
};

struct census {
	/* glibc's malloc was found and its layout recognised; else only `problem` is set, with the reason */
	bool known;
	char layout[64];		/* "glibc 2.32 to 2.41" */
	taddr main_arena;
	size_t main_arena_size;
	struct block *blocks;		/* in use, sorted; without the allocator's own */
	size_t nblocks, block_room;
	/*
	 * the allocator's own (tcaches, arena heads) and the loader's: roots or nothing, never listed; sorted
	 */
	struct block *own;
	size_t nown;
	struct census_area *areas;	/* sorted, none overlaps */
	size_t nareas;
	struct census_arena *arenas;
	size_t narenas;
	struct census_sum mmapped;	/* chunks with a mapping of their own, as found */
	uint64_t mmapped_claimed;	/* mp_.mmapped_mem, the allocator's count; UINT64_MAX: not found */
	uint64_t mmapped_chunks_claimed;	/* mp_.n_mmaps, found with it */
	size_t others;			/* other glibc mallocs in use (dlmopen): their memory is not listed */
	uint64_t others_bytes;		/* that they have from the system */
	/* threads that may be inside malloc, between a change and its accounting */
	size_t between;
	uint64_t foreign_bytes;		/* between pieces of the main heap: other code has called sbrk */
	uint64_t unseen_bytes;		/* of heaps: after a corrupt chunk, or not in the snapshot */
	/* places where a thread was at work, of which the extent was guessed: better take another snapshot */
	size_t unsure;
	/* places where a chunk was just being split or merged, and its old state could still be read */
	size_t repaired;
	struct census_problem problem;	/* the first */
	size_t nproblems;
};

/* 0, whatever was found (see `known`, `problem`); -ENOMEM. */
must_check int census_take(const struct snapshot *s, struct census *out);
void census_fini(struct census *c);

/* The allocator's extent that contains @at; NULL: none. */
const struct census_area *census_area_at(const struct census *c, taddr at);

/* Do the allocator's own figures and ours agree, in each arena and for mmapped chunks? */
bool census_adds_up(const struct census *c);

#endif

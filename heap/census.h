/* SPDX-License-Identifier: MIT */
/*
 * census: every block that is in use, of all allocators of a process, from a snapshot: what any of them has,
 * whatever it looks like in memory. heap/census_take.h makes it, heap/allocators.h lists the allocators, and
 * each has a folder (heap/glibc, ...) that fills one census of its own; heap/census_join.h makes one of them.
 *
 * Nothing is guessed. If an allocator's layout is not recognised, that is reported; if its memory is corrupt,
 * `problem` has the address and the reason, and everything found so far remains valid.
 */
#ifndef MM_CENSUS_H
#define MM_CENSUS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/block.h"

/* Allocators that a census can have read; more than there are. */
#define CENSUS_ALLOCATORS 8u

/*
 * One of the allocator's extents: its bytes are blocks and the allocator's own words, and none of them is a
 * root.
 */
struct census_area {
	taddr lo, hi;
	uint32_t arena;		/* CENSUS_MMAPPED: in none; one mmapped chunk, if it is glibc's */
};
#define CENSUS_MMAPPED UINT32_MAX
#define CENSUS_INNER 32u

struct census_sum {
	uint64_t blocks, bytes;		/* bytes: with the allocator's header before each block, if any */
};

struct census_arena {
	taddr at;			/* of its own struct */
	uint32_t state_bytes;		/* how large that is: what is in there is no root */
	uint32_t head_bytes;		/* what each of its blocks takes besides its own size */
	const char *allocator;		/* as in heap/allocators.h; not copied */
	uint64_t system_bytes;		/* memory from the system, by its own count */
	uint64_t walked_bytes;		/* memory that the census has covered: the same, if all is well */
	/* in use; free, by where it is: glibc's fastbins, caches of threads, lists of the arena (or slabs) */
	struct census_sum used, fast, tcache, bins;
	uint64_t top_bytes;		/* never allocated yet, or free as a whole */
	uint64_t other_bytes;		/* heads, fenceposts, and the like */
};

/* Where and why the census is incomplete. */
struct census_problem {
	taddr at;			/* 0: none */
	char what[160];
};

struct census {
	/* an allocator was found and its layout recognised; else only `problem` is set, with the reason */
	bool known;
	char layout[128];		/* "glibc 2.32 to 2.41", or of several allocators "...; ..." */
	const char *listed[CENSUS_ALLOCATORS];	/* whose blocks these are: names as in heap/allocators.h */
	size_t nlisted;
	/* "jemalloc is there, but its layout is not known: ..."; "": none */
	char unread[160];
	struct block *blocks;		/* in use, sorted; without the allocator's own: census_blocks.h */
	size_t nblocks, block_room;
	/*
	 * the allocator's own (tcaches, arena heads) and the loader's: roots or nothing, never listed; sorted
	 */
	struct block *own;
	size_t nown;
	struct census_area *areas;	/* sorted, none overlaps */
	size_t nareas;
	/*
	 * where an address that was given out may be inside of its block, at a multiple of CENSUS_INNER, and
	 * nothing shows that (mimalloc's memalign): such a pointer means the whole block; sorted
	 */
	struct census_area *inner;
	size_t ninner;
	struct census_arena *arenas;	/* of glibc's, main_arena is the first */
	size_t narenas;
	struct census_sum mmapped;	/* blocks with a mapping of their own, in no arena, as found */
	uint64_t mmapped_claimed;	/* their bytes, by the allocator's own count; UINT64_MAX: not found */
	uint64_t mmapped_chunks_claimed;	/* their number, found with it */
	size_t others;			/* other glibc mallocs in use (dlmopen): their memory is not listed */
	uint64_t others_bytes;		/* that they have from the system */
	/* threads that may be inside the allocator, between a change and its accounting */
	size_t between;
	uint64_t foreign_bytes;		/* between pieces of the main heap: other code has called sbrk */
	uint64_t unseen_bytes;		/* of heaps: after a corrupt chunk, or not in the snapshot */
	/* places where a thread was at work, of which the extent was guessed: better take another snapshot */
	size_t unsure;
	/* places where a chunk was just being split or merged, and its old state could still be read */
	size_t repaired;
	size_t differing;		/* of the allocators' own figures: those that disagree with ours */
	struct census_problem doubt;	/* the first that is counted in `unsure` or `differing` */
	struct census_problem problem;	/* the first */
	size_t nproblems;
};

/* Empty: nothing is known. */
void census_init(struct census *c);
void census_fini(struct census *c);

/* Something is corrupt. The first problem is stored, all are counted. */
__attribute__((format(printf, 3, 0)))
void census_problem(struct census *c, taddr at, const char *what, va_list args);

/* Something is guessed @n times, as at @at; or so many figures of the allocator disagree with ours. */
void census_unsure(struct census *c, size_t n, taddr at, const char *why);
void census_differs(struct census *c, size_t n, taddr at, const char *why);

/*
 * Something does not fit together: if one of @at_work threads may be inside the allocator, it may be that,
 * and another snapshot is better; otherwise it is a problem.
 */
__attribute__((format(printf, 4, 5)))
void census_doubt(struct census *c, size_t at_work, taddr at, const char *what, ...);

/* The arena's figures, if the allocator has none itself: what is neither block nor free is its own. */
void census_count_rest(struct census_arena *a);

/* The allocator's extent that contains @at; NULL: none. */
const struct census_area *census_area_at(const struct census *c, taddr at);

/* Can @at be the address of a block that begins before it (`inner`)? */
bool census_is_inner(const struct census *c, taddr at);

/* Are blocks of the allocator with this name listed? */
bool census_lists(const struct census *c, const char *allocator);

/* Is the number of blocks with a mapping of their own the allocator's? Also if that is not known. */
bool census_mapped_add_up(const struct census *c);

/* Is nothing guessed, and do the allocators' own figures and ours agree? If not: make the pause again. */
bool census_adds_up(const struct census *c);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * reach: which blocks of a snapshot are still reached, as valgrind's memcheck would say it.
 *
 * Roots: registers of all threads; stacks from sp - 128 on (all of a mapping that is not surely a thread's stack: a coroutine's);
 * all other writable memory, private and shared (shares.h), and what the dynamic loader has allocated, less the heaps, the given blocks, and what
 * is nobody's pointer: the allocator's own structs, and mmattach's.
 * From there the flood goes by every aligned word. A word that points to a block's beginning reaches it; one that
 * points inside makes it possibly lost, but for valgrind's heuristics: std::string, length64, new[], multiple inheritance.
 * Of the lost ones, those that another one points to are indirectly lost; in a ring that nothing points to the
 * first by address stands for all (cliques as valgrind forms them, in the order of addresses).
 *
 * Memory whose meaning is not known counts as a root: less is lost then than is. What only a pointer in memory holds that is not in the
 * snapshot is taken for lost: that memory could hold pointers to anything, and nothing would be lost. reach_doubts says what is missing, a
 * sentence each.
 */
#ifndef MM_REACH_H
#define MM_REACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/verdict.h"
#include "heap/block.h"
#include "heap/glibc/census.h"
#include "heap/snapshot/snapshot.h"

/* Interior pointers that count as pointers to the beginning, as --leak-check-heuristics of valgrind 3.19 has them, all on. */
enum reach_heuristic {
	REACH_STDSTRING = 1 << 0,
	REACH_LENGTH64 = 1 << 1,
	REACH_NEWARRAY = 1 << 2,
	REACH_MULTIPLE = 1 << 3,
	REACH_ALL = 15,			/* valgrind's */
	REACH_HEADER = 1 << 4,		/* ours: where most blocks have a header (heap/reach/headers.h) */
};

struct reach_input {
	const struct snapshot *snapshot;
	const struct census *census;	/* NULL: the allocator is not known: heap memory outside of `blocks` is a root then, and blocks inside others' memory are only cut out */
	const struct block *blocks;	/* to be judged, sorted; may be census->blocks, or others (watched ones): the census's take part all the same */
	size_t nblocks;
	const struct block *quiet;	/* more memory that is nobody's root and not judged, sorted: freed blocks and the like; may be NULL */
	size_t nquiet;
	unsigned heuristics;		/* enum reach_heuristic */
	bool exact;			/* sizes of blocks are what was asked for, not what the allocator made of it: the heuristics look at them */
	unsigned threads;		/* of ours, to flood with; 0: half as many as there are processors, at most 4 */
};

#define REACH_HEADERS 2	/* at most: a program may use two libraries that do that */

struct reach {
	uint8_t *verdict;		/* enum verdict, for each block */
	uint32_t *leader;		/* for each indirectly lost block: the definitely lost one by which it counts; else itself */
	size_t nblocks;
	struct reach_sum {
		uint64_t blocks, bytes;
	} sums[VERDICT_COUNT];
	struct reach_header {		/* REACH_HEADER: what was recognised */
		uint32_t distance;
		uint64_t blocks;	/* that are possibly lost without it */
	} headers[REACH_HEADERS];
	unsigned nheaders;
	uint64_t words;			/* looked at */
	uint64_t memory;		/* bytes that it took, most at once, besides the snapshot and the blocks */
	double seconds;
};

/* 0 or -ENOMEM; -E2BIG: more than 2^32 - 2 blocks; -EINVAL: they are not sorted, or two are at one address. */
must_check int reach_run(const struct reach_input *in, struct reach *out);
void reach_fini(struct reach *r);

/* Why verdicts may be weaker than they look: a sentence each, NUL-terminated, into @out; how many. */
size_t reach_doubts(const struct reach_input *in, const struct reach *r, struct strbuf *out);

/* --- who points at an address --- */

enum pointer_place { POINTER_BLOCK, POINTER_REGISTER, POINTER_STACK, POINTER_DATA, POINTER_TLS, POINTER_OWN };

struct pointer {
	enum pointer_place place;
	taddr at;			/* of the word; POINTER_REGISTER: 0 */
	taddr value;			/* what it holds: the address that is asked for, or inside of its block */
	pid_t tid;			/* POINTER_REGISTER, POINTER_STACK, POINTER_TLS */
	const char *reg;		/* POINTER_REGISTER: its name */
	size_t block;			/* POINTER_BLOCK: which of the given ones; POINTER_NO_BLOCK: one that only the census has */
};
#define POINTER_NO_BLOCK SIZE_MAX

/*
 * All words of the snapshot that point at the block that holds @addr (or, if it is no block, at @addr itself), at most @limit of them, those to
 * the beginning first; free(*out). The number of all in @total. 0 or -errno as reach_run.
 */
must_check int reach_who_points(const struct reach_input *in, taddr addr, size_t limit, struct pointer **out, size_t *n, size_t *total);

#endif

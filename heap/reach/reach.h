/* SPDX-License-Identifier: MIT */
/*
 * reach: which blocks of a snapshot are still reachable, by the rules of valgrind's memcheck.
 *
 * Roots: registers of all threads; stacks from sp - 128 on (all of a mapping that is not certainly a thread's
 * stack, as a coroutine's); all other writable memory, private and shared (shared_maps.h), and what the
 * dynamic loader has allocated, without the heaps, the given blocks, and memory whose pointers do not count:
 * the allocator's own structs, and mmattach's. From there, the flood follows every aligned word, and in code that
 * was made at run time also those that are not aligned: an address may be a part of an instruction. A word that
 * points to a block's beginning makes it reachable; one that points inside makes it possibly lost, except for
 * valgrind's heuristics: std::string, length64, new[], multiple inheritance. Lost blocks to which another one
 * points are indirectly lost; in a ring without a pointer from outside, the first by address leads the others
 * (cliques as valgrind forms them, in the order of addresses).
 *
 * Memory of unknown meaning counts as a root: then fewer blocks are reported lost than are. A block is
 * reported lost if its only pointer is in memory that is not in the snapshot: that memory could have pointers
 * to anything, and otherwise nothing would be lost. reach_doubts reports what is missing, one sentence each.
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
#include "heap/census.h"
#include "heap/snapshot/snapshot.h"

/*
 * Interior pointers that count as pointers to the beginning: those of valgrind 3.19's
 * --leak-check-heuristics, all on, and more.
 */
enum reach_heuristic {
	REACH_STDSTRING = 1 << 0,
	REACH_LENGTH64 = 1 << 1,
	REACH_NEWARRAY = 1 << 2,
	REACH_MULTIPLE = 1 << 3,
	REACH_ALL = 15,			/* valgrind's */
	/* ours: */
	REACH_HEADER = 1 << 4,		/* if most blocks have a header (heap/reach/headers.h) */
	REACH_HASH_TABLE = 1 << 5,	/* of Rust's library */
	REACH_SDS = 1 << 6,		/* strings of redis */
	REACH_OURS = REACH_HEADER | REACH_HASH_TABLE | REACH_SDS,
};

struct reach_input {
	const struct snapshot *snapshot;
	/*
	 * NULL: the allocator is not known. Heap memory outside of `blocks` is then a root, and blocks inside
	 * other memory are only cut out.
	 */
	const struct census *census;
	/*
	 * Blocks that get verdicts, sorted; may be census->blocks, or others (watched ones): those of the
	 * census take part in any case.
	 */
	const struct block *blocks;
	size_t nblocks;
	/*
	 * further memory that is no root and gets no verdicts, sorted: freed blocks and the like; may be NULL
	 */
	const struct block *quiet;
	size_t nquiet;
	unsigned heuristics;		/* enum reach_heuristic */
	bool exact;			/* sizes of blocks are the requested ones (for the heuristics) */
	unsigned threads;		/* walkers; 0: half the number of processors, at most 4 */
};

#define REACH_HEADERS 2	/* at most: a program may use two libraries with headers */

struct reach {
	uint8_t *verdict;		/* enum verdict, for each block */
	/* for each indirectly lost block: the definitely lost one with which it counts; otherwise itself */
	uint32_t *leader;
	size_t nblocks;
	struct reach_sum {
		uint64_t blocks, bytes;
	} sums[VERDICT_COUNT];
	struct reach_header {		/* REACH_HEADER: the distances that were recognised */
		uint32_t distance;
		uint64_t blocks;	/* possibly lost without it */
	} headers[REACH_HEADERS];
	unsigned nheaders;
	uint64_t words;			/* words read */
	uint64_t memory;		/* bytes allocated at most, beside snapshot and blocks */
	double seconds;
};

/*
 * 0 or -ENOMEM; -E2BIG: more than 2^32 - 2 blocks; -EINVAL: they are not sorted, or two are at one address.
 */
must_check int reach_run(const struct reach_input *in, struct reach *out);
void reach_fini(struct reach *r);

/*
 * Why verdicts may be weaker than they look: one sentence each, NUL-terminated, into @out; returns their
 * number.
 */
size_t reach_doubts(const struct reach_input *in, const struct reach *r, struct strbuf *out);

/*
 * Was not all of it seen that may point to blocks, so that some may be taken for lost? By the other doubts less is
 * found to be lost than is.
 */
bool reach_may_take_for_lost(const struct reach_input *in);

/* --- what points at an address --- */

enum pointer_place { POINTER_BLOCK, POINTER_REGISTER, POINTER_STACK, POINTER_DATA, POINTER_TLS, POINTER_OWN };

struct pointer {
	enum pointer_place place;
	taddr at;			/* of the word; POINTER_REGISTER: 0 */
	taddr value;			/* its value: the address in question, or one in its block */
	pid_t tid;			/* POINTER_REGISTER, POINTER_STACK, POINTER_TLS */
	const char *reg;		/* POINTER_REGISTER: its name */
	size_t block;			/* POINTER_BLOCK: index of the given one, or POINTER_NO_BLOCK */
};
#define POINTER_NO_BLOCK SIZE_MAX	/* a block that only the census has */

/*
 * All words of the snapshot that point into the block that contains @addr (or, if there is none, at @addr
 * itself), at most @limit of them, those to the beginning first; free(*out). The number of all in @total. 0
 * or -errno as reach_run.
 */
must_check int reach_who_points(const struct reach_input *in, taddr addr, size_t limit, struct pointer **out,
				size_t *n, size_t *total);

#endif

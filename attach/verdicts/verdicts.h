/* SPDX-License-Identifier: MIT */
/*
 * verdicts: verdicts on the live blocks of a ledger, from a snapshot of the same moment.
 *
 *	live blocks of all families ─┐
 *	census of the heap ──────────┴─▶ which is inside which ─▶ the innermost ones ─▶ reach ─▶ verdicts, and
 *	                                                                  what is lost with which block
 *
 * Which blocks: memory that belongs to the process alone. Descriptors, threads, objects with references,
 * mappings have no verdict. If an allocator gets its own memory from malloc (a pool; one that puts a header
 * before each block), its blocks are inside blocks of malloc: the inner block is searched for, since the
 * program points to it, and the outer one gets the best verdict of those in it.
 *
 * Of a block whose requested size is known (--sizes exact), only so much is searched for pointers: what malloc
 * gave in addition was never written, and may have pointers of an earlier block at that address.
 *
 * What the dynamic loader has allocated, which includes each thread's tables of thread-local variables, is in
 * use. If the census has all blocks, but not this one, its free was not seen: it has no verdict, and that is
 * reported.
 */
#ifndef MM_VERDICTS_H
#define MM_VERDICTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/events/recorder.h"
#include "base/cleanup.h"
#include "base/strbuf.h"
#include "heap/census.h"
#include "heap/reach/reach.h"
#include "heap/snapshot/snapshot.h"
#include "report/ledger/ledger.h"

#define VERDICTS_NONE UINT32_MAX

enum verdicts_part {
	VERDICTS_NOT,			/* not memory of the process alone, or not a block */
	VERDICTS_STALE,			/* not a block of the allocator any more */
	VERDICTS_NODE,			/* gets a verdict of its own */
	VERDICTS_OUTER,			/* other blocks are inside it */
	VERDICTS_LOADERS,		/* the dynamic loader's, or the allocator's own: in use */
};

struct verdicts_block {
	taddr addr;
	uint64_t size;
	uint32_t family;		/* index; VERDICTS_NONE: not watched, but the census has it */
	uint32_t node;			/* index in nodes; VERDICTS_NONE: none */
	bool requested;			/* a block of the allocator's, and its size is what was requested */
	uint8_t part;			/* enum verdicts_part */
	uint8_t verdict;		/* enum verdict */
};

struct verdicts_with {
	uint64_t blocks, bytes;
};

struct verdicts {
	struct verdicts_block *blocks;	/* by address; at one address the census's first, then the largest */
	size_t nblocks, blocks_room;
	struct block *nodes;		/* blocks that reach finds the verdicts of */
	size_t nnodes;
	struct census census;
	struct reach reach;
	struct verdicts_with *with;	/* by node: what is lost with it. NULL before verdicts_write */
	size_t stale, outer;		/* how many blocks are so */
	bool may_err;			/* reach_may_take_for_lost */
	struct strbuf doubts;		/* a sentence each, NUL-terminated */
	size_t ndoubts;
};

/* @exact: sizes of watched blocks are the requested ones. 0 or -errno; verdicts_fini in any case. */
must_check int verdicts_run(struct verdicts *j, const struct snapshot *s, const struct ledger *l, bool exact);

/* Write @look, completed, and all verdicts to @r. 0 or -ENOMEM. */
must_check int verdicts_write(struct verdicts *j, struct fact_verdicts *look, struct recorder *r);

void verdicts_fini(struct verdicts *j);

#endif

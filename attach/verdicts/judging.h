/* SPDX-License-Identifier: MIT */
/*
 * judging: verdicts on the live blocks of a ledger, from a snapshot of the same moment.
 *
 *	live blocks of all families ─┐
 *	census of the heap ──────────┴─▶ who lies in whom ─▶ the innermost ones ─▶ reach ─▶ verdicts, what is lost with whom
 *
 * Which blocks: memory that the process has to itself. Descriptors, threads, objects with references, mappings have no verdict. A block
 * of an allocator whose own memory comes from malloc (a pool's, one with a head of its own) lies in one of malloc's: the
 * inner one is judged, for it is what the program points to, and the outer one is as well off as the best of
 * those in it.
 *
 * What the dynamic loader has allocated, the tables of thread-local variables of each thread among it, is in use.
 * A block that the census does not know, where it knows all, was released unseen: it has no verdict, and that is said.
 */
#ifndef MM_JUDGING_H
#define MM_JUDGING_H

#include <stddef.h>
#include <stdint.h>

#include "attach/events/recorder.h"
#include "base/cleanup.h"
#include "base/strbuf.h"
#include "heap/glibc/census.h"
#include "heap/reach/reach.h"
#include "heap/snapshot/snapshot.h"
#include "report/ledger/ledger.h"

#define JUDGING_NONE UINT32_MAX

enum judging_part {
	JUDGING_NOT,			/* it is not memory of the process's own, or not a block */
	JUDGING_STALE,			/* the allocator does not know it */
	JUDGING_NODE,
	JUDGING_OUTER,			/* others lie in it */
	JUDGING_LOADERS,		/* the dynamic loader's, or the allocator's own: in use */
};

struct judging_block {
	taddr addr;
	uint64_t size;
	uint32_t family;		/* index; JUDGING_NONE: nobody watched it, the census has it */
	uint32_t node;			/* which of nodes it is; JUDGING_NONE: none */
	uint8_t part;			/* enum judging_part */
	uint8_t verdict;		/* enum verdict */
};

struct judging_with {
	uint64_t blocks, bytes;
};

struct judging {
	struct judging_block *blocks;	/* by address; of one address the census's first, then the largest */
	size_t nblocks, blocks_room;
	struct block *nodes;		/* what reach judges */
	size_t nnodes;
	struct census census;
	struct reach reach;
	struct judging_with *with;	/* by node: what is lost with it. NULL before judging_tell */
	size_t stale, outer;
	struct strbuf doubts;		/* a sentence each, NUL-terminated */
	size_t ndoubts;
};

/* 0 or -errno; judging_fini in any case. */
must_check int judging_run(struct judging *j, const struct snapshot *s, const struct ledger *l, bool exact);

/* Tell @r: @look, completed, and all verdicts. 0 or -ENOMEM. */
must_check int judging_tell(struct judging *j, struct fact_look *look, struct recorder *r);

void judging_fini(struct judging *j);

#endif

/* SPDX-License-Identifier: MIT */
/* tally_blocks: alloc, realloc and free of blocks. For tally.c. */
#ifndef MM_TALLY_BLOCKS_H
#define MM_TALLY_BLOCKS_H

#include "attach/events/tallied.h"

/* The old block of a realloc under way. */
struct realloc_open {
	taddr addr;
	uint32_t alloc;			/* the stack that allocated it: number + 1 or FACT_NONE */
	struct released_by before;
	enum { REALLOC_LIVE, REALLOC_OLD, REALLOC_FREED, REALLOC_OUTSIDE } was;
};

/* The last free of a thread, by a function that may forward it to another one. */
struct forwarded_free {
	taddr addr, sp;			/* rsp where the function was entered */
	uint32_t probe;
};

void tally_alloc(struct tally *t, const struct tallied *x);
void tally_realloc(struct tally *t, const struct tallied *x);
void tally_free(struct tally *t, const struct tallied *x);

/* Settle the suspect frees of thread @tid: they are what they look like, or (@ended) the allocator's own. */
void tally_settle_suspects(struct tally *t, uint32_t tid, bool ended);

#endif

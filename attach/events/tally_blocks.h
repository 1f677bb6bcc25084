/* SPDX-License-Identifier: MIT */
/* tally_blocks: alloc, realloc and free of blocks. For tally.c. */
#ifndef MM_TALLY_BLOCKS_H
#define MM_TALLY_BLOCKS_H

#include "attach/events/tallied.h"

/* The old block of a realloc under way. */
struct realloc_open {
	taddr addr;
	uint64_t size;			/* if it is older: 0: not known */
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

/* What is allocated at the end of a call whose beginning was lost. */
void tally_unopened(struct tally *t, const struct tallied *x);

enum suspects_are {
	SUSPECTS_REAL,		/* what they look like */
	SUSPECTS_ITS_OWN,	/* the allocator's own: the thread has ended */
	SUSPECTS_UNKNOWN,	/* either, as events were lost: none of them is called a double free */
};

/* Settle the suspect frees of thread @tid. */
void tally_settle_suspects(struct tally *t, uint32_t tid, enum suspects_are what);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * fair: no thread is stopped for long because another one is quicker back.
 *
 * Everyone who has stopped is served once a round, but not everyone is back for
 * each round. The thread that shares the keeper's processor runs the moment the
 * keeper gives it away, while the others queue for theirs: of 8 alike on 2
 * processors the last got 0.4 to 0.9 of what the first got, as the scheduler had
 * placed them. So a hit of a thread that is ahead of its peers waits for them.
 *
 * That costs the one in front something, and is therefore bounded: only where
 * more threads hit than there are processors; a peer is who got at least a
 * quarter of what the foremost got (slower ones have their own reasons); a hit
 * waits for 1 ms at most, and a thread for half of its time.
 */
#ifndef MM_FAIR_H
#define MM_FAIR_H

#include "attach/keeper/threads.h"

#define FAIR_WINDOW_NS 10000000		/* turns are counted over so long */
#define FAIR_LEAD 8			/* turns by which one may be ahead */
#define FAIR_PEER 4			/* a peer had at least one turn where the foremost had so many */
#define FAIR_WAIT_NS 1000000

struct fair {
	uint32_t processors;
	uint64_t window_ns;		/* when the present window began */
	uint32_t most_before;		/* turns of the foremost in the window before */
	uint32_t least;			/* turns of the last peer in this one; UINT32_MAX: nobody need wait */
};

void fair_init(struct fair *f);

/* Once a round, before anyone is served. */
void fair_look(struct fair *f, struct threads *ts, uint64_t now_ns);

/* Must the hit of @t, a stop seen at t->seen_ns, wait for its peers? If so, @t remembers that it was kept. */
bool fair_keeps(const struct fair *f, struct tracee *t, uint64_t now_ns);

/* @t is served at last: what it was kept for counts against this window's half. */
void fair_served(struct tracee *t, uint64_t now_ns);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * fair: no thread is stopped for long because another one is hit again sooner.
 *
 * Each thread that has stopped is served once a round, but not each thread has stopped again by the next
 * round. The thread that shares the keeper's processor runs the moment the keeper yields it, while the others
 * wait for theirs: of 8 equal threads on 2 processors the last got 0.4 to 0.9 of the hits of the first,
 * depending on where the scheduler had placed them. So if a thread is ahead of its peers, its hit waits for
 * them.
 *
 * That costs the foremost thread something, and is therefore bounded: only where more threads hit than there
 * are processors; a peer is a thread that got at least a quarter of the hits of the foremost (threads that
 * are slower than that are so for another reason); a hit waits for 1 ms at most, and a thread for half of its
 * time.
 */
#ifndef MM_FAIR_H
#define MM_FAIR_H

#include "attach/keeper/threads.h"

#define FAIR_WINDOW_NS 10000000		/* hits are counted over this time */
#define FAIR_LEAD 8			/* hits by which a thread may be ahead */
#define FAIR_PEER 4			/* a peer had at least one hit for so many of the foremost */
#define FAIR_WAIT_NS 1000000

struct fair {
	uint32_t processors;
	uint64_t window_ns;		/* when the present window began */
	uint32_t most_before;		/* hits of the foremost thread in the window before */
	uint32_t least;			/* hits of the last peer in this window; UINT32_MAX: none waits */
};

void fair_init(struct fair *f);

/* Once a round, before any thread is served. */
void fair_begin_round(struct fair *f, struct threads *ts, uint64_t now_ns);

/* Must the hit of @t, a stop seen at t->seen_ns, wait for its peers? Sets t->waits_for_peers if so. */
bool fair_must_wait(const struct fair *f, struct tracee *t, uint64_t now_ns);

/* @t is served now: the time that it has waited for its peers counts against its half of this window. */
void fair_served(struct tracee *t, uint64_t now_ns);

#endif

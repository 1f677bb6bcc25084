/* SPDX-License-Identifier: MIT */
/*
 * interim: reports while the watch goes on (--interval, SIGUSR1).
 *
 * Looking up names takes its time, and meanwhile somebody must read the ring: so a copy of ourselves (fork) makes
 * each report from the ledger as it was at that moment. If the one before is still at work, the round is left out, and that is said.
 */
#ifndef MM_INTERIM_H
#define MM_INTERIM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct interim {
	uint64_t interval_ns;		/* 0: none */
	uint64_t next_ns;		/* CLOCK_MONOTONIC */
	bool asked;			/* for one more than those */
	uint32_t round;
	pid_t child;			/* 0: none at work */
	/* Make and print the report of round @round: in the copy. Its exit status. */
	int (*report)(void *ctx, uint32_t round);
	void *ctx;
};

void interim_begin(struct interim *i, uint64_t now_ns);

/* The next tick makes one, whatever the time. */
void interim_ask(struct interim *i);

/* Is it time? Then a copy is sent off, if the one before has ended. */
bool interim_due(const struct interim *i, uint64_t now_ns);	/* the next tick makes one, */
bool interim_ready(struct interim *i);				/* or leaves it out: false */
void interim_tick(struct interim *i, uint64_t now_ns);

/*
 * Wait for the last copy: its report comes before the final one. Not for ever (somebody may have stopped reading
 * it), and not when @stop becomes readable: then it is ended.
 */
void interim_end(struct interim *i, int stop);

#endif

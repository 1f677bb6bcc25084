/* SPDX-License-Identifier: MIT */
/*
 * interim: reports during the watch (--interval, SIGUSR1).
 *
 * Looking up names takes time, and the ring must be read meanwhile: so a copy of ourselves (fork) makes each
 * report from the ledger as it was at that moment. If the previous copy still runs, the report is left out,
 * and that is logged. The files of --metrics are made in the same way.
 */
#ifndef MM_INTERIM_H
#define MM_INTERIM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct interim {
	const char *name;		/* "interim report", "file of metrics" */
	bool silent;			/* one that is left out is not worth a message, as the next comes soon */
	uint64_t interval_ns;		/* 0: none */
	uint64_t next_ns;		/* CLOCK_MONOTONIC */
	bool asked;			/* for an additional one */
	uint32_t round;
	pid_t watcher;			/* the process of which the copies are made */
	pid_t child;			/* the copy; 0: none runs */
	/* Make and print the report of round @round; runs in the copy. Returns the copy's exit status. */
	int (*report)(void *ctx, uint32_t round);
	void *ctx;
};

void interim_begin(struct interim *i, uint64_t now_ns);

/* The next tick makes one, whatever the time. */
void interim_ask(struct interim *i);

/* If a report is due, interim_tick starts a copy, unless the previous one still runs. */
bool interim_due(const struct interim *i, uint64_t now_ns);	/* is a report due at the next tick? */
bool interim_ready(struct interim *i);				/* has the previous copy ended? */
void interim_tick(struct interim *i, uint64_t now_ns);

/*
 * Wait for the last copy: its report must be printed before the final one. The copy is killed after a timeout
 * (the reader of its output may have stopped reading), or when @stop becomes readable.
 */
void interim_end(struct interim *i, int stop);

#endif

/* SPDX-License-Identifier: MIT */
/* uprobe_parts: what the files of uprobe.h share: uprobe.c, uprobe_sites.c, uprobe_pump.c. For these only. */
#ifndef MM_UPROBE_PARTS_H
#define MM_UPROBE_PARTS_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "attach/uprobe/uprobe.h"
#include "attach/uprobe/uprobe_calls.h"
#include "attach/uprobe/uprobe_kernel.h"
#include "attach/uprobe/uprobe_reader.h"

/* The probes that were made together. */
struct group {
	struct uprobe_links links;
	uint32_t sites;			/* how many of its sites are still mapped */
};

#define GROUPS 256u
#define NO_GROUP 0xffffu

struct uprobe {
	pid_t pid;
	struct shared *shared;
	struct uprobe_kernel *kernel;
	struct uprobe_reader reader;
	struct uprobe_calls calls;
	struct uprobe_chain chains[UPROBE_CHAIN_SLOTS];	/* the last of each slot of BPF */
	bool chained;			/* as BPF has it */
	struct group groups[GROUPS];
	uint16_t group_of[SHARED_SITES];
	/* how often a site's number was given up: a record of an earlier one is not the present one's */
	uint32_t generation[SHARED_SITES];
	int epoll, pidfd;
	uint64_t lost;			/* as it was when the ring was read last */
	uint32_t lost_seen;
	uint32_t lost_noted;		/* as far as it is in a record */
	uint64_t lost_next_ns;
	uint64_t losing_since_ns, read_ns;
	uint64_t counted_ns;
	int nice;			/* ours before */
	const struct rule *rules;	/* of a sample; NULL: all calls are recorded */
	uint32_t sharers;		/* as in the last record of them */
	uint64_t stale, unfollowed;
	bool left, execed, ended;
	pthread_t closer;		/* if closing: after uprobe_leave the links are its own */
	bool closing;
	bool wants_files, own_files;	/* of the closer: file descriptors of its own */
	sem_t begun;
	bool inherits;			/* uprobe_files.h */
};

static inline uint32_t uprobe_smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static inline uint64_t uprobe_clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

#endif

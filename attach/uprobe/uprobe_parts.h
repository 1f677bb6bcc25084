/* SPDX-License-Identifier: MIT */
/* uprobe_parts: what the files of uprobe.h share: uprobe.c, uprobe_sites.c, uprobe_pump.c. For these only. */
#ifndef MM_UPROBE_PARTS_H
#define MM_UPROBE_PARTS_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

#include "attach/uprobe/uprobe.h"
#include "attach/uprobe/uprobe_calls.h"
#include "attach/uprobe/uprobe_kernel.h"
#include "attach/uprobe/uprobe_reader.h"
#include "attach/uprobe/uprobe_selftest.h"

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
	struct uprobe_hit_cost cost;	/* as the self-test has found it */
	struct uprobe_counts before;	/* runs for the self-test */
	uint64_t hits;			/* of the runs since then: those of which a record was read */
	uint64_t lost;			/* as it was when the ring was read last */
	uint32_t lost_seen;
	uint32_t lost_noted;		/* as far as it is in a record */
	uint64_t unstored;		/* as it was when recording began */
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

/*
 * The file descriptors of all probes, behind that of the process; NULL: no memory. *@n: how many. The caller frees them.
 */
int *uprobe_collect_fds(const struct uprobe *u, size_t *n);

/* Probes of these sites, of which plant_result says that they could be made, are kept by another process. */
void uprobe_note_lent(struct uprobe *u, const uint32_t *sites, size_t n);

/* What the controller knows of where chains begin is known to BPF at the next hit. */
void uprobe_pass_chain(struct uprobe *u);

/* The load that is the word before the block that is given to the function; SITE_LOADS: it has none. */
static inline unsigned uprobe_word_load(const struct site *s)
{
	for (unsigned i = SITE_OLD_CHUNK; i < SITE_LOADS; i++)
		if (s->loads[i].base == SITE_BASE_ARG1 && s->loads[i].index == SITE_BASE_NONE &&
		    s->loads[i].width == 8 && s->loads[i].disp == -8)
			return i;
	return SITE_LOADS;
}

static inline uint32_t uprobe_smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

#endif

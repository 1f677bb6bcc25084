/* SPDX-License-Identifier: MIT */
/*
 * doubts: releases that may be the allocator's own.
 *
 * When a thread ends, glibc gives what its cache holds to free once more: blocks
 * that were released before, and the cache itself, which never came from
 * malloc. So what looks like a double free, or an old block's, is kept apart
 * until the thread does something else, which proves it the program's; if the
 * thread ends first, it was the allocator's.
 */
#ifndef MM_DOUBTS_H
#define MM_DOUBTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addrmap.h"
#include "base/cleanup.h"
#include "base/taddr.h"
#include "report/ledger/released.h"

struct doubts {
	struct addrmap threads;	/* tid -> struct doubtful */
};

/* A release of a block that was not held. */
struct doubt {
	taddr addr;
	uint64_t time_us;
	uint32_t stack;			/* who released it: number + 1 or FACT_NONE */
	bool again;			/* it was released before, by */
	struct released_by before;
};

/* One thread's, the oldest first. */
struct doubtful {
	struct doubt *all;
	size_t n, size;
	uint32_t probe;		/* whose hits they are */
};

void doubts_init(struct doubts *d);
void doubts_fini(struct doubts *d);

/* 0 or -ENOMEM. */
must_check int doubts_add(struct doubts *d, uint32_t tid, const struct doubt *a, uint32_t probe);

/* Take out those of thread @tid; false if there are none. doubtful_fini afterwards. */
bool doubts_take(struct doubts *d, uint32_t tid, struct doubtful *out);
void doubtful_fini(struct doubtful *t);

/* Some thread that has any; false if nobody has. */
bool doubts_any(const struct doubts *d, uint32_t *tid);

#endif

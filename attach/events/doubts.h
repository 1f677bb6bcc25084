/* SPDX-License-Identifier: MIT */
/*
 * doubts: frees that may be the allocator's own.
 *
 * When a thread ends, glibc calls free once more for the blocks in its cache,
 * which were freed before, and for the cache itself, which never came from
 * malloc. So what looks like a double free, or the free of an older block, is
 * set aside until the thread does something else, which proves that it was the
 * program's; if the thread ends first, it was the allocator's.
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

/* A free of a block that was not live. */
struct doubt {
	taddr addr;
	uint64_t time_us;
	uint32_t stack;			/* the stack that freed it: number + 1 or FACT_NONE */
	bool again;			/* it was freed before, by */
	struct released_by before;
};

/* One thread's, the oldest first. */
struct doubtful {
	struct doubt *all;
	size_t n, size;
	uint32_t probe;		/* the one that was hit */
};

void doubts_init(struct doubts *d);
void doubts_fini(struct doubts *d);

/* 0 or -ENOMEM. */
must_check int doubts_add(struct doubts *d, uint32_t tid, const struct doubt *a, uint32_t probe);

/* Remove those of thread @tid; false if there are none. Call doubtful_fini afterwards. */
bool doubts_take(struct doubts *d, uint32_t tid, struct doubtful *out);
void doubtful_fini(struct doubtful *t);

/* Any thread that has some; false if no thread has. */
bool doubts_any(const struct doubts *d, uint32_t *tid);

#endif

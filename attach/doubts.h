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

#include "attach/live.h"
#include "base/addrmap.h"
#include "base/cleanup.h"

struct doubts {
	struct addrmap threads;	/* tid -> struct doubtful */
};

/* One thread's, the oldest first. */
struct doubtful {
	struct aside *all;
	size_t n, size;
	uint32_t probe;		/* whose hits they are */
};

void doubts_init(struct doubts *d);
void doubts_fini(struct doubts *d);

/* 0 or -ENOMEM. */
must_check int doubts_add(struct doubts *d, uint32_t tid, const struct aside *a, uint32_t probe);

/* Take out those of thread @tid; false if there are none. doubtful_fini afterwards. */
bool doubts_take(struct doubts *d, uint32_t tid, struct doubtful *out);
void doubtful_fini(struct doubtful *t);

/* Some thread that has any; false if nobody has. */
bool doubts_any(const struct doubts *d, uint32_t *tid);

#endif

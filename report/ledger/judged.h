/* SPDX-License-Identifier: MIT */
/*
 * judged: a list of blocks that were judged, in a few bytes each: for those few things of a verdict that the table of live
 * blocks (live.h) has no room for. In the order in which they were added; near addresses one after the other take the least.
 */
#ifndef MM_JUDGED_H
#define MM_JUDGED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/taddr.h"
#include "base/verdict.h"

struct judged_block {
	uint32_t family;			/* index */
	enum verdict verdict;
	taddr addr;
	uint64_t with_blocks, with_bytes;	/* lost with it */
};

/* All zero: empty. */
struct judged {
	uint8_t *bytes;
	size_t n, size;
	taddr last;
	size_t count;
};

void judged_fini(struct judged *j);	/* and it is empty */

must_check int judged_add(struct judged *j, const struct judged_block *b);	/* 0 or -ENOMEM */

/* One after the other: begin with one that is all zero. */
struct judged_place {
	size_t at;
	taddr before;
};

bool judged_next(const struct judged *j, struct judged_place *place, struct judged_block *out);

#endif

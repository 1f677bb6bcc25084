/* SPDX-License-Identifier: MIT */
/*
 * judged: a list of blocks and their verdicts, in a few bytes each: for the few parts of a verdict for which
 * the table of live blocks (live.h) has no room. It is in the order in which blocks were added; neighbouring
 * addresses in sequence take the least memory.
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

void judged_fini(struct judged *j);	/* afterwards it is empty */

must_check int judged_add(struct judged *j, const struct judged_block *b);	/* 0 or -ENOMEM */

/* A position for judged_next; begin with one that is all zero. */
struct judged_place {
	size_t at;
	taddr before;
};

bool judged_next(const struct judged *j, struct judged_place *place, struct judged_block *out);

#endif

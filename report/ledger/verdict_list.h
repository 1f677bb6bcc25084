/* SPDX-License-Identifier: MIT */
/*
 * verdict_list: a list of blocks and their verdicts, in a few bytes each: for what the table of live blocks
 * (live.h) has no room for, and few blocks have. It is in the order in which blocks were added; neighbouring
 * addresses in sequence take the least memory.
 */
#ifndef MM_VERDICT_LIST_H
#define MM_VERDICT_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/taddr.h"
#include "base/verdict.h"

struct verdict_block {
	uint32_t family;			/* index */
	enum verdict verdict;
	taddr addr;
	uint64_t with_blocks, with_bytes;	/* lost with it */
};

/* All zero: empty. */
struct verdict_list {
	uint8_t *bytes;
	size_t n, size;
	taddr last;
	size_t count;
};

void verdict_list_fini(struct verdict_list *j);	/* afterwards it is empty */

must_check int verdict_list_add(struct verdict_list *j, const struct verdict_block *b);	/* 0 or -ENOMEM */

/* A position for verdict_list_next; begin with one that is all zero. */
struct verdict_place {
	size_t at;
	taddr before;
};

bool verdict_list_next(const struct verdict_list *j, struct verdict_place *place, struct verdict_block *out);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * drafts: the stacks of one family that keep blocks, those of the same places put together: what will be a group of the report, before
 * it has names.
 *
 * Two stacks are of the same places if they name the same offsets of the same files, wherever these were loaded. Of several frames
 * of one place the one with the lowest number stands for all: so the result is the same whichever way the run came.
 */
#ifndef MM_DRAFTS_H
#define MM_DRAFTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/addrmap.h"
#include "base/cleanup.h"
#include "report/ledger.h"

/* What a stack, or several, keep. */
struct kept {
	uint64_t blocks, bytes;
	uint64_t oldest_us, youngest_us;	/* times of birth; blocks 0: nothing */
	taddr sample;				/* the oldest block; of several that of the lowest address */
};

struct path {
	uint32_t *frames;	/* each the one that stands for its place */
	uint32_t depth;
	uint8_t end;
};

struct draft {
	struct path path;
	struct kept kept;
	uint64_t allocs, frees;
	uint64_t held_bytes;		/* at the end, however young */
	uint64_t points[MMT_SERIES_POINTS];
	uint32_t skip;			/* frames at the front that do not tell it from another: wrappers */
	size_t wrappers;		/* the same in frames as printed */
	bool hidden;			/* it is no group of its own */
};

struct drafts {
	struct ledger *ledger;
	uint32_t family;
	uint64_t older_than_us;		/* blocks must be that old; 0: all */
	const uint32_t *same_as;	/* frame -> the frame that stands for its place */
	struct draft *all;
	size_t n, size;
	uint32_t npoints;		/* of the series */
	struct addrmap by_hash;		/* of the path -> index in all */
};

/* For each frame the one that stands for its place; @same_as has room for defs.nframes. 0 or -ENOMEM. */
must_check int drafts_find_same(const struct defs *d, uint32_t *same_as);

/* All of family @family (an index). @same_as stays the caller's. 0 or -ENOMEM; drafts_fini in any case. */
must_check int drafts_make(struct ledger *l, uint32_t family, uint64_t older_than_us, const uint32_t *same_as,
			   struct drafts *out);
void drafts_fini(struct drafts *ds);

/* Those that are not hidden and do not differ behind their `skip` frames become one; the others of them are hidden. 0 or -ENOMEM. */
must_check int drafts_merge(struct drafts *ds);

#endif

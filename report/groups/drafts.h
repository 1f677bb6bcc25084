/* SPDX-License-Identifier: MIT */
/*
 * drafts: the stacks of one family that matter at the end, those of the same places (report/groups/paths.h) put together,
 * with what was counted there: what will be a group of the report, or of objects a place of one, before it has
 * names. Blocks of one path that got several verdicts are as many drafts: the calls that were counted there are the same in each, how
 * it grew is its own.
 *
 * Of blocks these are the stacks that keep some; of a sampled run also those of which it tells by numbers only, unless an age is
 * asked for. Of objects those that took or dropped references of one that is
 * still held.
 */
#ifndef MM_DRAFTS_H
#define MM_DRAFTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/addrmap.h"
#include "base/cleanup.h"
#include "report/groups/paths.h"
#include "report/ledger/ledger.h"
#include "report/model/growth.h"
#include "report/model/sampled.h"
#include "report/model/summary.h"

/* What a stack, or several, keep. Not of objects: they are no one stack's. */
struct kept {
	uint64_t blocks, bytes;
	uint64_t oldest_us, youngest_us;	/* times of birth; blocks 0: nothing */
	taddr sample;				/* the oldest block; of several that of the lowest address */
	uint64_t indirect_blocks, indirect_bytes;	/* lost with these blocks */
};

struct draft {
	struct path path;
	enum verdict verdict;
	struct kept kept;
	uint64_t allocs, frees;		/* references taken, dropped */
	uint64_t taken;			/* bytes that were ever allocated */
	struct sampled *sampled;	/* what a sampled run says of its stacks: of all drafts of a path, the first one's; NULL: nothing */
	uint64_t held_bytes;		/* at the end, however young; references taken here, on objects that are held */
	uint64_t points[MMT_SERIES_POINTS];	/* what was held in time, */
	uint64_t own_bytes;		/* in the end, */
	uint64_t own_allocs, own_frees;	/* and the calls that this comes of: where a path has several drafts, of the draft's own blocks */
	uint32_t skip;			/* frames at the front that do not tell it from another: wrappers */
	size_t wrappers;		/* the same in frames as printed */
	bool hidden;			/* it is no group of its own */
	bool is_told;			/* of the first of a path: one of its drafts became a group */
	bool is_group;			/* it became one of the report, */
	size_t serial;			/* with this number (summary_group.serial) */
	uint32_t twin;			/* hidden by drafts_merge: which one it became part of; else itself */
	uint32_t first;			/* of those of its path: it counts for all, and has the frames */
	uint32_t next;			/* another one of its path; DEFS_NONE: none */
};

struct drafts {
	struct ledger *ledger;
	uint32_t family;
	uint64_t older_than_us;		/* blocks, objects must be that old; 0: all */
	const uint32_t *same_as;	/* frame -> the frame that stands for its place */
	struct draft *all;
	size_t n, size;
	uint32_t *of_stack;		/* drafts_of: by stack and verdict */
	uint32_t nverdicts;		/* that are told apart: 1 where there are none */
	struct summary_sum sums[VERDICT_COUNT];	/* all blocks, however young */
	uint32_t npoints;		/* of the series */
	struct addrmap by_hash;		/* of the path -> index in all */
};

/*
 * All of family @family (an index). @same_as (paths_find_same) stays the caller's. 0 or -ENOMEM; drafts_fini in any
 * case.
 */
must_check int drafts_make(struct ledger *l, uint32_t family, uint64_t older_than_us, const uint32_t *same_as,
			   struct drafts *out);
void drafts_fini(struct drafts *ds);

/*
 * Those that are not hidden and do not differ behind their `skip` frames become one; the others of them are hidden.
 * 0 or -ENOMEM.
 */
must_check int drafts_merge(struct drafts *ds);

/* Which one the blocks of this stack with this verdict are in, as index in all; DEFS_NONE: they do not matter. */
uint32_t drafts_of(const struct drafts *ds, uint32_t stack, enum verdict verdict);

/* Is something born then old enough to be counted? */
bool drafts_wants(const struct drafts *ds, uint64_t birth_us);

/* What was held there in time, into @points (room for MMT_SERIES_POINTS + 1). How many. */
size_t drafts_series(const struct drafts *ds, const struct draft *d, struct growth_point *points);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * stack_groups: the stacks of one family that matter at the end. Stacks with the same code locations
 * (report/groups/paths.h) are put together, with what was counted for them. A stack group becomes a group of
 * the report, or for objects a call site of a group, when it gets names. If blocks of one path got several
 * verdicts, there is a stack group for each verdict: the calls counted are the same in each, the growth is
 * its own. What is withheld (withheld.h) is a stack group of its own, too.
 *
 * For blocks these are the stacks with live blocks, and in a sampled run also those of which only numbers are
 * recorded, unless an age is asked for. For objects they are the stacks that acquired or released references
 * of an object that still exists.
 */
#ifndef MM_STACK_GROUPS_H
#define MM_STACK_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/addrmap.h"
#include "base/cleanup.h"
#include "report/groups/paths.h"
#include "report/groups/withheld.h"
#include "report/ledger/ledger.h"
#include "report/model/growth.h"
#include "report/model/sampled.h"
#include "report/model/summary.h"
#include "report/sampling/byte_sample.h"

/* The live blocks of a stack, or of several. Not for objects: they do not belong to one stack. */
struct stack_live {
	uint64_t blocks, bytes;
	uint64_t oldest_us, youngest_us;	/* times of birth; no meaning if blocks is 0 */
	/* The oldest block; of several the one with the lowest address. */
	taddr sample;
	uint64_t indirect_blocks, indirect_bytes;	/* lost with these blocks */
	struct byte_sample sample_of;		/* in a sample by bytes: how sure blocks and bytes are */
	size_t withheld_by;		/* if they are withheld: the suppression that is the first one's reason */
};

struct stack_group {
	struct path path;
	enum verdict verdict;
	struct stack_live live;
	uint64_t allocs, frees;		/* of objects: references acquired, released */
	uint64_t allocated_bytes;			/* bytes that were ever allocated */
	/*
	 * The samples of its stacks in a sampled run; owned by the first stack group of a path; NULL: none.
	 */
	struct sampled *sampled;
	/* Live bytes at the end, of any age; of objects: references acquired here on existing objects. */
	uint64_t held_bytes;
	/* If a path has several stack groups, these are for the stack group's own blocks. */
	uint64_t points[MMT_SERIES_POINTS];	/* live bytes over time, */
	uint64_t older[MMT_SERIES_POINTS];	/* as in struct growth_point (replaced.h), */
	uint64_t own_bytes;		/* at the end, */
	uint64_t own_allocs, own_frees;	/* and the calls behind them */
	uint32_t skip;			/* frames at the front that are ignored in comparisons: wrappers */
	size_t wrappers;		/* the same, counted in frames as printed */
	bool hidden;			/* it is not a group of its own */
	bool withheld;			/* indirectly lost, and suppressed with the leak */
	/* In the first stack group of a path: one of the path's stack groups became a group. */
	bool has_group;
	size_t its_first;		/* likewise: serial number of the first of these groups */
	bool is_group;			/* it became a group of the report, */
	size_t serial;			/* with this number (summary_group.serial) */
	/* the stack group into which stack_groups_merge merged it; else itself */
	uint32_t twin;
	/* the first stack group of its path: counts for all, owns the frames */
	uint32_t first;
	uint32_t next;			/* the next stack group of its path; DEFS_NONE: none */
};

struct stack_groups {
	struct ledger *ledger;
	uint32_t family;
	uint64_t older_than_us;		/* minimum age of blocks and objects; 0: all */
	bool freed;			/* also stacks none of whose blocks is live */
	const uint32_t *same_as;	/* frame -> the frame that represents its code location */
	const struct withheld *withheld;	/* NULL: nothing is */
	struct stack_group *all;
	size_t n, size;
	uint32_t *of_stack;		/* stack_groups_of: by stack and verdict */
	uint32_t *first_of;		/* by stack: the first stack group of its path; DEFS_NONE: it has none */
	uint32_t nverdicts;		/* how many are distinguished: 1 if there are no verdicts */
	struct summary_sum sums[VERDICT_COUNT];	/* all live blocks, of any age, */
	struct histogram sizes, ages;		/* by their size and by their age */
	uint32_t npoints;		/* length of the series */
	struct addrmap by_hash;		/* hash of the path -> index in all */
};

/* What belongs to them: as in struct stack_groups; all stay the caller's. */
struct stack_groups_choice {
	uint64_t older_than_us;
	bool freed;
	const uint32_t *same_as;	/* paths_find_same */
	const struct withheld *withheld;
};

/*
 * Make the stack groups of the family with index @family. 0 or -ENOMEM; stack_groups_fini in any case.
 */
must_check int stack_groups_make(struct ledger *l, uint32_t family, const struct stack_groups_choice *choice,
				 struct stack_groups *out);
void stack_groups_fini(struct stack_groups *ds);

/*
 * Stack groups that are not hidden and do not differ after their `skip` frames, in their verdict, nor in whether the
 * kernel's probes saw them lose blocks, are merged into one; the others become hidden. 0 or -ENOMEM.
 */
must_check int stack_groups_merge(struct stack_groups *ds);

/*
 * The stack group that has the blocks of this stack with this verdict, as an index in all; DEFS_NONE: they
 * are not wanted.
 */
uint32_t stack_groups_of(const struct stack_groups *ds, uint32_t stack, enum verdict verdict);

/* Is a block or object with this time of birth old enough to be counted? */
bool stack_groups_wants(const struct stack_groups *ds, uint64_t birth_us);

/*
 * Write its live bytes over time to @points (room for MMT_SERIES_POINTS + 1). Returns the number of points.
 */
size_t stack_groups_series(const struct stack_groups *ds, const struct stack_group *d,
			   struct growth_point *points);

#endif

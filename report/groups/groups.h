/* SPDX-License-Identifier: MIT */
/*
 * groups: the places of a ledger that keep blocks, as groups of the report.
 *
 * Two stacks are one group if they name the same places of the same files: a
 * module that was unloaded and came back elsewhere has other addresses, and is
 * the same code. Wrappers of the allocator at the front do not tell stacks apart, tags do. Objects with references: refgroups.h.
 */
#ifndef MM_GROUPS_H
#define MM_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "report/ledger/ledger.h"
#include "report/model/groupmap.h"
#include "report/model/summary.h"
#include "report/query/lookup.h"
#include "report/query/select.h"
#include "report/suppress/suppress.h"

struct groups_options {
	uint64_t older_than_us;			/* blocks must be that old; 0: all */
	uint64_t min_bytes;			/* a group must keep so much; of a sampled run, as is estimated, or may be */
	unsigned show;				/* a bit for each enum verdict; 0, or where none was made: all */
	const struct select *select;		/* NULL: all */
	struct suppressions *suppressions;	/* NULL: none; uses are counted in it */
	bool keep_wrappers;			/* they are shown, and tell stacks apart */
	bool per_object;			/* of objects with references each one is listed */
	struct lookup *lookup;			/* single blocks that are asked for: it is answered here; NULL: none */
	const char *const *families;		/* names: only these */
	size_t nfamilies;			/* 0: all */
};

bool groups_wants_family(const struct groups_options *opt, const struct ledger *l, uint32_t family);

/* Set @wanted[i] (of defs.nframes) for each frame of a stack that the report will show. 0 or -ENOMEM. */
must_check int groups_wanted(const struct ledger *l, bool *wanted);

/*
 * Add the groups of one family of blocks to @s, and what was hidden; @groups gets which blocks are in which group. @same_as: of each frame the one that
 * stands for its place (paths.h). 0 or -ENOMEM.
 */
must_check int groups_add_family(struct ledger *l, const struct groups_options *opt, uint32_t family, const uint32_t *same_as,
				 struct groupmap *groups, struct summary *s);

#endif

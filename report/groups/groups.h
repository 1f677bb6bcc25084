/* SPDX-License-Identifier: MIT */
/*
 * groups: makes the groups of the report from the stacks of a ledger that have live blocks, or from all.
 *
 * Two stacks are one group if they name the same locations of the same files: a module that was unloaded and
 * loaded again elsewhere has other addresses, and is the same code. Wrappers at the front do not distinguish
 * stacks, tags do. For objects with references see refgroups.h.
 */
#ifndef MM_GROUPS_H
#define MM_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "report/groups/withheld.h"
#include "report/ledger/ledger.h"
#include "report/model/groupmap.h"
#include "report/model/summary.h"
#include "report/query/lookup.h"
#include "report/query/select.h"
#include "report/suppress/suppress.h"

struct groups_options {
	uint64_t older_than_us;			/* minimum age of blocks; 0: all */
	/* Minimum live bytes of a group; in a sampled run, the estimate or the possible maximum. */
	uint64_t min_bytes;
	unsigned show;				/* a bit for each enum verdict; 0, or no verdicts: all */
	const struct select *select;		/* NULL: all */
	struct suppressions *suppressions;	/* NULL: none; uses are counted in it */
	bool keep_wrappers;			/* wrappers are shown, and distinguish stacks */
	bool per_object;			/* list each object with references */
	bool freed;				/* also stacks none of whose blocks is live */
	/* A question about single blocks, answered here; NULL: none. */
	struct lookup *lookup;
	const char *const *families;		/* names: only these */
	size_t nfamilies;			/* 0: all */
};

bool groups_wants_family(const struct groups_options *opt, const struct ledger *l, uint32_t family);

/*
 * Set @wanted[i] (of defs.nframes) for each frame of a stack that the report will show; @freed as in the options.
 * 0 or -ENOMEM.
 */
must_check int groups_wanted(const struct ledger *l, bool freed, bool *wanted);

/*
 * What the families have in common: for each frame the one that represents its code location (paths.h); what
 * is suppressed with other blocks; and which blocks are in which group.
 */
struct groups_common {
	const uint32_t *same_as;
	struct withheld withheld;
	struct groupmap groups;
};

/*
 * Add the groups of one family of blocks to @s, and what was hidden; c->groups gets which blocks are in which
 * group. 0 or -ENOMEM.
 */
must_check int groups_add_family(struct ledger *l, const struct groups_options *opt, uint32_t family,
				 struct groups_common *c, struct summary *s);

#endif

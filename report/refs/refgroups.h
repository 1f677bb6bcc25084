/* SPDX-License-Identifier: MIT */
/*
 * refgroups: the objects of a family that still have references, as groups of the report: ten thousand that were
 * taken and dropped at the same places, and have the same net count, are one.
 *
 *	object ──▶ signature: net count, older or not, counted or not, the set of places that took, the set of those that dropped
 *	group  =   the objects of one signature, with how often each place did it
 *
 * How often a place took or dropped a single object is not in the signature: who is looked up twice is leaked the
 * same way as who is looked up once, and the net count says what is wrong.
 */
#ifndef MM_REFGROUPS_H
#define MM_REFGROUPS_H

#include <stdint.h>

#include "base/cleanup.h"
#include "report/groups/groups.h"
#include "report/ledger/ledger.h"
#include "report/model/summary.h"

/*
 * Add the groups of family @family (an index) to @s, and what was hidden. @same_as: see report/groups/paths.h. A group is
 * wanted (--focus) if any of its stacks is; it is left out (--ignore, suppressions) for a place that took. 0 or
 * -ENOMEM.
 */
must_check int refgroups_add(struct ledger *l, const struct groups_options *opt, uint32_t family, const uint32_t *same_as,
			     struct summary *s);

/* What the family's objects come to: fill in kept, older and net of @f. */
void refgroups_count(const struct ledger *l, uint32_t family, struct summary_family *f);

#endif

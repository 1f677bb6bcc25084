/* SPDX-License-Identifier: MIT */
/*
 * refgroups: the objects of a family that still have references, as groups of the report: ten thousand
 * objects whose references were acquired and released at the same call sites, and that have the same net
 * count, are one group.
 *
 *	object ──▶ signature: net count, older or not, counted or not, call sites that acquired or released
 *	group  =   the objects of one signature, with the number of calls from each place
 *
 * How often a call site acquired or released references of a single object is not in the signature: an object
 * that was looked up twice leaks in the same way as one that was looked up once, and the net count shows what
 * is wrong.
 */
#ifndef MM_REFGROUPS_H
#define MM_REFGROUPS_H

#include <stdint.h>

#include "base/cleanup.h"
#include "report/groups/groups.h"
#include "report/ledger/ledger.h"
#include "report/model/summary.h"

/*
 * Add the groups of family @family (an index) to @s, and count the hidden ones. @same_as: see
 * report/groups/paths.h. A group is shown (--focus) if any of its stacks matches; it is left out (--ignore,
 * suppressions) if a call site that acquired matches. 0 or -ENOMEM.
 */
must_check int refgroups_add(struct ledger *l, const struct groups_options *opt, uint32_t family,
			     const uint32_t *same_as, struct summary *s);

/* Sum up the family's objects: fill in kept, older and net of @f. */
void refgroups_count(const struct ledger *l, uint32_t family, struct summary_family *f);

#endif

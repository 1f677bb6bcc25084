/* SPDX-License-Identifier: MIT */
/*
 * refplaces: the call sites of a family of objects, with names: where references were acquired or released of
 * an object that still has some. A call site is a number (a `place`): the same for all stacks that are equal
 * behind their wrappers.
 */
#ifndef MM_REFPLACES_H
#define MM_REFPLACES_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "report/groups/groups.h"
#include "report/groups/stack_groups.h"
#include "report/ledger/ledger.h"
#include "report/model/summary.h"
#include "report/refs/refowners.h"
#include "report/refs/signatures.h"

struct refplace {
	struct stack_view stack;	/* the summary's */
	uint32_t owner;			/* its module: a number of refowners */
	uint64_t several, as_many;	/* as in a summary_use */
};

struct refplaces {
	struct stack_groups stacks;
	struct refowners owners;
	struct refplace *all;		/* by number: the stack group's index */
};

/* The frames are copied to @s. 0 or -ENOMEM; call refplaces_fini in any case. */
must_check int refplaces_make(struct ledger *l, const struct groups_options *opt, uint32_t family,
			      const uint32_t *same_as, struct summary *s, struct refplaces *out);
void refplaces_fini(struct refplaces *p);

/* The place of the stack with this index. */
uint32_t refplaces_of(const struct refplaces *p, uint32_t stack);

/* Count an object in the numbers that cover all objects of the family. */
void refplaces_look(struct refplaces *p, const struct sig_object *o);

/*
 * What the call site acquired: @count references on @objects of a group. For a call site that released, the
 * numbers that cover all objects mean nothing.
 */
struct summary_use refplaces_acquired(const struct refplaces *p, uint32_t place, uint64_t count,
				   uint64_t objects);
struct summary_use refplaces_dropped(const struct refplaces *p, uint32_t place, uint64_t count,
				     uint64_t objects);

/*
 * Growth of the references that were acquired here and not released. @series has room for MMT_SERIES_POINTS +
 * 1. Returns the number of points.
 */
size_t refplaces_growth(const struct refplaces *p, uint32_t place, struct growth_point *series,
			struct growth *out);

#endif

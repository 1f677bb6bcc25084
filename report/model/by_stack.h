/* SPDX-License-Identifier: MIT */
/*
 * by_stack: the groups of a summary as rows (report/names/rows.h has what else belongs to a row). A group of the
 * summary is one stack and one verdict, so one leak is several of them: definitely lost blocks, possibly lost ones,
 * young ones that are still reachable. Here it is one:
 *
 *	lost	what is definitely or possibly lost of a stack, and what is indirectly lost with it if the same
 *		stack allocated it
 *	live	the other blocks of the stack. If they are few (an eighth) they are added to the lost ones, or
 *		to those lost with another group: so many are on their way in any program. Else they are a
 *		group of their own, as a cache is of whose blocks some are lost.
 *
 * A group lost with others of the same stack and of other stacks is divided: each of its blocks is in one row.
 * What is lost with a row and in no group (hidden, or its allocation was not seen) is `uncounted`: the totals
 * and shares of the report do not have it either.
 *
 * A merged group's verdict is that of most of its bytes; `parts` has all. Its growth is that of all its
 * blocks and of those lost with them: of blocks that are lost only after a while, the lost ones alone seem
 * to grow less at the end.
 */
#ifndef MM_BY_STACK_H
#define MM_BY_STACK_H

#include <stddef.h>

#include "base/cleanup.h"
#include "report/model/summary.h"

struct by_stack {
	/* All but its groups belongs to the summary that it was made of; not for summary_fini. */
	struct summary view;
	size_t *index_of;	/* in the view, by index in that summary */
};

/* Of the sorted summary @s, which must outlive @out. 0 or -ENOMEM; by_stack_fini in any case. */
must_check int by_stack_make(const struct summary *s, struct by_stack *out);
/* Likewise, but a view with each group as it is: of a scan. */
must_check int by_stack_copy(const struct summary *s, struct by_stack *out);
void by_stack_fini(struct by_stack *b);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * replaced: which of what a stack has added only replaces blocks that are older than the watch. A store whose
 * entries are overwritten allocates new blocks and frees old ones: what was allocated in the watch grows
 * until the last of the old ones is gone, and the memory does not.
 *
 * Of older blocks that are freed the size is known, not the stack. So frees and growth are matched by size
 * class:
 *
 *      growth  of a grou
  p: by how much the floor of its series rises in a span (what stays), shared among its size
 *		classes as its live blocks are
 *	match	what is freed in a span cancels growth of the same span, then of the spans beside it; no more. So a burst
 *		of frees does not cancel growth that goes on: of 32 spans it can only cancel that of three
 *	share	what is cancelled of a class in a span is shared among the groups in proportion to their growth in it
 *
 * Lost blocks replace nothing: their groups have no part in it, nor in what is left for others. Of several
 * processes there are no sizes of live blocks, and nothing is matched.
 */
#ifndef MM_REPLACED_H
#define MM_REPLACED_H

#include "base/cleanup.h"
#include "report/groups/stack_groups.h"

/* Fill in `older` of all stack groups, after they were merged. 0 or -ENOMEM. */
must_check int replaced_find(struct stack_groups *ds);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * drafts_parts: what the parts of drafts have in common; for them alone.
 *
 *	drafts.c	from stacks to drafts
 *	drafts_split.c	from what was counted at a path to its drafts
 *	drafts_table.c	drafts that are there: found, added up, and from those that look the same to one
 */
#ifndef MM_DRAFTS_PARTS_H
#define MM_DRAFTS_PARTS_H

#include "report/groups/drafts.h"

/* Where of_stack has the blocks of this stack with this verdict. */
size_t drafts_slot(const struct drafts *ds, uint32_t stack, enum verdict verdict);

/* @k goes to @to as well. */
void drafts_add_kept(struct kept *to, const struct kept *k);

/* Of paths with several drafts: `points`, `own_bytes`, `own_allocs`, `own_frees` of each; they hold the path's before. 0 or -ENOMEM. */
must_check int drafts_split(struct drafts *ds);

/*
 * The first draft of @path with @verdict (VERDICT_COUNT: whichever was first), or NULL; then @h is where it would be found. Who
 * shares a hash without being the same goes to the next free one.
 */
struct draft *drafts_look_up(struct drafts *ds, const struct path *path, uint32_t skip, enum verdict verdict, uint64_t *h);

#endif

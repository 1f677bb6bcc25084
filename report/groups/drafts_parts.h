/* SPDX-License-Identifier: MIT */
/*
 * drafts_parts: what the parts of drafts have in common; for them alone.
 *
 *	drafts.c	from stacks to drafts
 *	drafts_split.c	divides what was counted for a path among its drafts
 *	drafts_table.c	finds drafts, adds them up, merges those that look the same
 */
#ifndef MM_DRAFTS_PARTS_H
#define MM_DRAFTS_PARTS_H

#include "report/groups/drafts.h"

/* The index in of_stack for the blocks of this stack with this verdict. */
size_t drafts_slot(const struct drafts *ds, uint32_t stack, enum verdict verdict);

/* Add @k to @to. */
void drafts_add_kept(struct kept *to, const struct kept *k);

/*
 * For paths with several drafts: set `points`, `own_bytes`, `own_allocs` and `own_frees` of each draft.
 * Before, they hold the values of the path. 0 or -ENOMEM.
 */
must_check int drafts_split(struct drafts *ds);

/*
 * The first draft of @path with @verdict (VERDICT_COUNT: with any verdict), or NULL; then @h is the key at
 * which it would be found. If a different draft has the same hash, the next free key is used.
 */
struct draft *drafts_look_up(struct drafts *ds, const struct path *path, uint32_t skip, enum verdict verdict, uint64_t *h);

#endif

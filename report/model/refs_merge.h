/* SPDX-License-Identifier: MIT */
/*
 * refs_merge: groups of objects for people: if more than a few groups differ only in their net count, as the
 * objects of a cache do, they are merged into one that lists the counts. Programs get the groups unmerged.
 */
#ifndef MM_REFS_MERGE_H
#define MM_REFS_MERGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "report/model/summary.h"

#define REFS_MERGE_FEW 3	/* up to so many are not merged */

struct refs_net {
	int64_t net;
	uint64_t objects;
};

struct merged_refs {
	struct summary_refs refs;	/* the largest group, with the numbers of all */
	struct refs_net *nets;		/* the net counts, most objects first */
	size_t nnets;
	int64_t least, most;
	size_t order;			/* the position of the largest group */
	size_t number;			/* only in rows (report/names/rows.h): the n of its [n] */
};

/*
 * The groups [first, first + n) of the sorted summary @s, which must outlive it, in the order of the table
 * (summary_refs_order). 0 or -ENOMEM; refs_merge_fini in any case.
 */
must_check int refs_merge(const struct summary *s, size_t first, size_t n, struct merged_refs **out,
			  size_t *nout);
void refs_merge_fini(struct merged_refs *all, size_t n);

#endif

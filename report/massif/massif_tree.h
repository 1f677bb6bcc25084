/* SPDX-License-Identifier: MIT */
/*
 * massif_tree: the tree of a snapshot in a massif file: from the allocator's callers outwards, the largest first.
 * Callers with less than a hundredth of all bytes are one node together.
 */
#ifndef MM_MASSIF_TREE_H
#define MM_MASSIF_TREE_H

#include <stdint.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "report/export/numbering.h"
#include "report/model/summary.h"

/* '#' would begin a comment: it becomes '@', in @sb from @from on. */
void massif_no_comment(struct strbuf *sb, size_t from);

/* The stacks of all groups, as numbers of frames, leaf first. */
struct massif_stacks {
	const struct summary *summary;
	struct numbering frames;	/* by their text in the file */
	uint32_t **all;			/* by index of the group */
};

/* 0 or -ENOMEM; massif_stacks_free in any case. */
must_check int massif_stacks_make(const struct summary *s, struct massif_stacks *out);
void massif_stacks_free(struct massif_stacks *st);

/* @bytes: by index of the group; @total: their sum. 0 or -ENOMEM. */
must_check int massif_tree(const struct massif_stacks *st, const uint64_t *bytes, uint64_t total, struct strbuf *sb);

#endif

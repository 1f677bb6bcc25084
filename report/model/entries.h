/* SPDX-License-Identifier: MIT */
/*
 * entries: the numbers that the text report gives to the groups of a family: "[3]", "[fd 3]". A group of
 * blocks has a number of its own; several groups of objects may share one (report/model/refs_merge.h).
 */
#ifndef MM_ENTRIES_H
#define MM_ENTRIES_H

#include <stddef.h>

#include "base/cleanup.h"
#include "report/model/summary.h"

struct entries {
	size_t *of_group, *of_refs;	/* by index in summary.groups, summary.refs: the number, from 1 */
	size_t *count;			/* by index of the part (report/model/text_parts.h): its size */
};

/* Of the sorted summary @s. 0 or -ENOMEM; entries_fini in any case. */
must_check int entries_make(const struct summary *s, struct entries *out);
void entries_fini(struct entries *e);

#endif

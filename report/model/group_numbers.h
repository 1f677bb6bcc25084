/* SPDX-License-Identifier: MIT */
/*
 * group_numbers: the numbers that the text report gives to the groups of a family: "[3]", "[fd 3]". Several
 * groups may share one: those of one stack (report/model/by_stack.h), and groups of objects
 * (report/model/refs_merge.h).
 */
#ifndef MM_GROUP_NUMBERS_H
#define MM_GROUP_NUMBERS_H

#include <stddef.h>

#include "base/cleanup.h"
#include "report/model/summary.h"

struct group_numbers {
	size_t *of_group, *of_refs;	/* by index in summary.groups, summary.refs: the number, from 1 */
	size_t *count;			/* by index of the part (report/model/text_parts.h): its size */
};

/* Of the sorted summary @s. 0 or -ENOMEM; group_numbers_fini in any case. */
must_check int group_numbers_make(const struct summary *s, struct group_numbers *out);
void group_numbers_fini(struct group_numbers *e);

#endif

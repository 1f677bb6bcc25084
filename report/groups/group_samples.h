/* SPDX-License-Identifier: MIT */
/*
 * group_samples: in a sampled run, what is concluded for each stack group: of each process by itself, as only there
 * blocks can be mistaken for others, and then of all processes together.
 */
#ifndef MM_GROUP_SAMPLES_H
#define MM_GROUP_SAMPLES_H

#include "base/cleanup.h"
#include "report/groups/stack_groups.h"
#include "report/model/summary.h"

struct group_sample;

struct group_samples {
	struct summary_sample *judged;	/* by stack group */
	struct group_sample *all;	/* of each process, by stack group */
	size_t n;
	struct summary_share *list;	/* room for all processes */
};

/* When the stack groups are merged. 0 or -ENOMEM; group_samples_fini in any case. */
must_check int group_samples_judge(const struct stack_groups *ds, struct group_samples *out);
void group_samples_fini(struct group_samples *s);

/*
 * How many bytes a minute are estimated to stay live in each process, or, if that is not known of any, may do so: those
 * of a stack group in a merged run, by process; valid until the next call. Returns the length of the list.
 */
size_t group_samples_shares(struct group_samples *s, size_t stack_group, struct summary_share **list);

#endif

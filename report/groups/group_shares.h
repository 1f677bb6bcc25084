/* SPDX-License-Identifier: MIT */
/* group_shares: of a merged ledger, how much each process has of a stack group. */
#ifndef MM_GROUP_SHARES_H
#define MM_GROUP_SHARES_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "report/groups/stack_groups.h"
#include "report/model/summary.h"

struct group_shares {
	const struct stack_groups *stacks;
	uint32_t *of;			/* merged groups of the ledger, those of a stack group side by side */
	size_t *from;			/* by stack group + 1: where its own begin; one more at the end */
	uint64_t *bytes;		/* by process: of the group that is being made */
	uint8_t *has;			/* likewise: the process has some */
	struct summary_share *list;	/* room for all processes */
};

/* When the stack groups are merged. Of a ledger that is not merged nothing is made. 0 or -ENOMEM. */
must_check int group_shares_make(const struct stack_groups *ds, struct group_shares *out);
void group_shares_fini(struct group_shares *g);

/* The list of a stack group, by process: valid until the next call. Returns its length. */
size_t group_shares_of(struct group_shares *g, size_t stack_group, struct summary_share **list);

#endif

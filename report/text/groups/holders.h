/* SPDX-License-Identifier: MIT */
/*
 * holders: for each group of indirectly lost blocks the groups with which it is lost: the hangs of all groups
 * (struct summary_hang), the other way round. Made once for a report: to look for the holders of each group
 * among all groups takes minutes if there are fifty thousand.
 */
#ifndef MM_HOLDERS_H
#define MM_HOLDERS_H

#include <stddef.h>

#include "base/cleanup.h"
#include "report/model/summary.h"

struct holder {
	size_t group;				/* its index in the summary */
	const struct summary_hang *hang;	/* what of the other group is lost with it */
};

struct holders {
	struct holder *all;	/* those of a group beside each other, in the order of the summary */
	size_t *first;		/* by index of the held group; one more than there are groups */
};

/* Of the sorted summary @s, which must outlive it. 0 or -ENOMEM; holders_fini in any case. */
must_check int holders_make(const struct summary *s, struct holders *h);
void holders_fini(struct holders *h);

#endif

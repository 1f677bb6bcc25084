/* SPDX-License-Identifier: MIT */
/*
 * sampled_others: allocation sites of which it cannot be said that their blocks stay live, since what is left
 * of them may be blocks of other sites.
 *
 * A tracked block is first looked at some milliseconds after it was allocated. It may have been freed by
 * then, and its address reused for a block that stays live, of another site that leaks or fills a cache: then
 * it seems to be that block, unless that allocation was seen. For a site that frees its blocks at once, so
 * that the next allocation of this size gets them, that is no small part: it is as much as the other sites
 * allocate in these milliseconds and do not free.
 *
 *	site		left	stays/min	others of that size stay unseen	before the first look
 *	parse_node	0.07	2,000		6,000 a minute: 100 a second	0.5 of a block: may be these
 *	leak		1.00	6,000		less than half as much is left of parse_node's: its own
 *
 * Only sites of which far more is left count, at an age at which that says something: so if one block in ten
 * stays at two sites, neither is doubted because of the other. But where nothing shows that blocks stay except that
 * some are lost at the end, any other site of that size counts of which some are lost, too.
 *
 * And what the whole process loses may be known, and of some stacks how much of that is theirs (the kernel's probes saw
 * it): so what is lost of the others can be no more than the rest.
 */
#ifndef MM_SAMPLED_OTHERS_H
#define MM_SAMPLED_OTHERS_H

#include <stddef.h>

#include "report/model/summary.h"

struct sampled_place {
	struct summary_sample *its;
	double bytes;		/* of one of its live blocks, or if there are none, of any block */
};

/*
 * Of @all[0..n), those that are reported as live, but whose blocks may be those of others, become unknown. @lost: how
 * many blocks a minute the process loses (INFINITY: that is not known).
 */
void sampled_doubt_others(const struct sampled_place *all, size_t n, double lost);

#endif

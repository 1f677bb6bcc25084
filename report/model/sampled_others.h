/* SPDX-License-Identifier: MIT */
/*
 * sampled_others: of which places it cannot be said that they keep what they take, because what is left of it may be others'.
 *
 * A followed block is looked at some milliseconds after it was given out for the first time. One that has gone by then and whose place was taken
 * by a block that stays, of another place that leaks or fills a cache, seems to be that block, unless it was seen when it was given out. Of a place that gives its
 * blocks back at once, into the hands of whoever takes one of that size next, that is no small part: as much as the others take in these milliseconds and keep.
 *
 *	place		left	keeps/min	others keep unseen, of about that size	before the first look
 *	parse_node	0.07	2,000		6,000 a minute: 100 a second		0.5 of a block ── may be these
 *	leak		1.00	6,000		less than half as much is left of parse_node's			── its own
 *
 * Only those count of which far more is left, at an age at which that says something: so of two places of which one block in ten stays, neither is doubted
 * because of the other.
 */
#ifndef MM_SAMPLED_OTHERS_H
#define MM_SAMPLED_OTHERS_H

#include <stddef.h>

#include "report/model/summary.h"

struct sampled_place {
	struct summary_sample *its;
	double bytes;		/* of one of its blocks that is left, or where there is none, of any */
};

/* Of @all[0..n), those that are said to stay and may be others' become unknown. */
void sampled_doubt_others(const struct sampled_place *all, size_t n);

#endif

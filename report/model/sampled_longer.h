/* SPDX-License-Identifier: MIT */
/*
 * sampled_longer: what would show whether a group leaks of which that is not known: for how long to watch, if
 * the number of blocks that were tracked so far tells it, or what else to do.
 *
 *	few, few_left	eight old blocks are needed, and n were tracked in this watch: it must be longer by
 *			that ratio, and 2.6 times that, as not all become old enough, and so that chance
 *			rarely leaves too few. With n below three the ratio is not known to a factor of
 *			ten: then only "longer"
 *	young, no_table	longer
 *	unnoticed, noticed	a larger part of the allocations must be seen: a larger budget
 *	some_late	longer than the blocks are meant to live, and that only the user knows
 *	others, written, hardly_any	samples cannot show it: an exact watch can
 */
#ifndef MM_SAMPLED_LONGER_H
#define MM_SAMPLED_LONGER_H

#include "report/model/summary.h"

enum sampled_advice { ADVICE_LONGER, ADVICE_BUDGET, ADVICE_LIFETIME, ADVICE_EXACT };

/*
 * For a group that may leak, in a run of @seconds. @longer_s, for ADVICE_LONGER: how long a watch should be,
 * in all; 0: that is not known.
 */
enum sampled_advice sampled_advice(const struct summary_sample *its, double seconds, double *longer_s);

#endif

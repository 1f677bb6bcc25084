/* SPDX-License-Identifier: MIT */
/*
 * unknown_reason: why it is not known whether a group leaks: the first reason that holds.
 *
 *	few		too few blocks were tracked for a conclusion; of several processes, in each
 *	others		little is left, and may be of other allocation sites, which allocate such sizes and
 *			free far fewer of them (report/model/sampled_others.h)
 *	written		most were written to, and can no longer be distinguished from others
 *	few_left	most are freed, and those that are left are too few
 *	young		too few have been seen at the age at which something can be said
 *	unnoticed	all seem to stay live, but reuse of their addresses would hardly have been noticed
 *			(survival_doubt)
 *	noticed		nearly all seem to stay live, but reuse of their addresses was noticed too often
 *	hardly_any	so few of all stay live that they may be others, at the addresses of freed ones
 *	no_table	they stay live, and nothing is added by now; but too few were to be expected lately to
 *			call it bounded, or there were such pauses before
 *	some_late	some stay live, and some are freed late
 */
#ifndef MM_UNKNOWN_REASON_H
#define MM_UNKNOWN_REASON_H

#include <stdbool.h>

#include "report/model/summary.h"

/* number, name in JSON */
#define UNKNOWN_REASONS(X)                                                                                   \
	X(NONE, none)                                                                                        \
	X(FEW, few) X(OTHERS, others) X(WRITTEN, written) X(YOUNG, young) X(UNNOTICED, unnoticed)            \
		X(NOTICED, noticed) X(FEW_LEFT, few_left) X(HARDLY_ANY, hardly_any) X(NO_TABLE, no_table)    \
			X(SOME_LATE, some_late) X(POINTED_TO, pointed_to)

enum unknown_reason {
#define X(upper, lower) UNKNOWN_##upper,
	UNKNOWN_REASONS(X)
#undef X
	UNKNOWN_COUNT
};

/* UNKNOWN_NONE: it is known. */
enum unknown_reason unknown_reason(const struct summary_sample *its);

/* As in JSON. */
const char *unknown_name(enum unknown_reason reason);

/* Would a longer watch, or more blocks seen, give an answer? */
bool unknown_for_want(enum unknown_reason reason);

/* The number of tracked blocks whose fate is unknown. */
uint64_t unknown_lost(const struct summary_sample *its);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * unknown: why it is not known whether what a group takes stays: the first reason that holds.
 *
 *	few		fewer blocks were followed than anything can be said of
 *	others		little is left of it, and may be of other places, which take such sizes and keep far more of them (report/model/sampled_others.h)
 *	written		most were written to, and cannot be told from others any more
 *	young		too few have come to an age at which something can be said
 *	unnoticed	all seems to stay, but hardly anybody would have noticed if others were in their places (survival_doubt)
 *	noticed		nearly all seems to stay, but that others took places was noticed too often
 *	few_left	most goes, and those that are left are too few
 *	hardly_any	so few of all stay that they may be others, in the places of those that went
 *	no_table	they stay, and nothing is added by now; but too few were to be expected of late to call it a table
 *	some_late	some stay, and some go late
 */
#ifndef MM_UNKNOWN_H
#define MM_UNKNOWN_H

#include <stdbool.h>

#include "report/model/summary.h"

/* number, name in JSON */
#define UNKNOWN_REASONS(X)										\
	X(NONE, none) X(FEW, few) X(OTHERS, others) X(WRITTEN, written) X(YOUNG, young) X(UNNOTICED, unnoticed)		\
	X(NOTICED, noticed) X(FEW_LEFT, few_left) X(HARDLY_ANY, hardly_any) X(NO_TABLE, no_table) X(SOME_LATE, some_late)

enum unknown_reason {
#define X(upper, lower) UNKNOWN_##upper,
	UNKNOWN_REASONS(X)
#undef X
};

/* UNKNOWN_NONE: it is known. */
enum unknown_reason unknown_reason(const struct summary_sample *its);

/* As in JSON. */
const char *unknown_name(enum unknown_reason reason);

/* Would more of the same, seen for longer, or more of it, tell? */
bool unknown_for_want(enum unknown_reason reason);

/* Of the followed blocks: those whose fate nobody knows. */
uint64_t unknown_lost(const struct summary_sample *its);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * apart: in a table that shows one function of each stack, what tells equal rows apart.
 *
 * Two rows are equal if their first functions behind the wrappers, in short, and the lines there, are the same. What tells them apart is, in this order,
 *
 *	arguments	of the template, where it is not the same function: Stack<int>::push and Stack<Big>::push
 *	a caller	the first frame from which on the stack differs from all those that the row is equal to
 *	its line	where only the place differs from which it is called
 *	a wrapper	the outermost one that differs, where one line calls several: format() and new
 *
 * Where whole stacks are the same (parts with different verdicts) there is nothing.
 */
#ifndef MM_APART_H
#define MM_APART_H

#include <stdbool.h>
#include <stddef.h>

#include "report/model/summary.h"

enum apart_by { APART_NOTHING, APART_WRAPPER, APART_LINE, APART_CALLER };

struct apart {
	enum apart_by by;
	size_t frame;		/* of by: an index of the whole stack */
	bool arguments;		/* beside that, or alone */
};

/* For each of @rows[0..n) what tells it from the others, in @out[0..n). The time is that of n * n stacks. */
void apart_find(const struct summary_group *const *rows, size_t n, struct apart *out);

#endif

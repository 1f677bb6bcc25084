/* SPDX-License-Identifier: MIT */
/*
 * apart: what distinguishes rows that would be equal, in a table that shows one function of each stack.
 *
 * Two rows are equal if the first functions after their wrappers have the same short name and the same line.
 * They are distinguished by, in this order,
 *
 *	arguments	of the template, if the functions differ: Stack<int>::push and Stack<Big>::push
 *	a caller	the first frame from which on the stack differs from those of all equal rows
 *	its line	if only the position of a call differs
 *	a wrapper	the outermost one that differs, if one line calls several: format() and new
 *
 * If whole stacks are the same (a cache some of whose blocks are lost), there is nothing to show.
 */
#ifndef MM_APART_H
#define MM_APART_H

#include <stddef.h>

#include "base/cleanup.h"
#include "report/model/summary.h"

/*
 * For each of @rows[0..n), what distinguishes it from the others, in @out[0..n). Only rows that look the same are
 * compared; of more than APART_MAX of these the first ones with each other. 0 or -ENOMEM.
 */
#define APART_MAX 200
must_check int apart_find(const struct summary_group *const *rows, size_t n, struct apart *out);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * apart: in a table that shows one function of each stack, the caller that tells equal rows apart.
 *
 * Two rows are equal if their first functions behind the wrappers, and the lines there, are the same. For such a row it is the first
 * frame from which on its stack differs from all those that it is equal to. Where whole stacks are the same (parts with
 * different verdicts) there is none.
 */
#ifndef MM_APART_H
#define MM_APART_H

#include <stddef.h>

#include "report/summary.h"

/* For each of @rows[0..n), indices of @groups: frame[index], 0 for none. The time is that of n * n stacks. */
void apart_find(const struct summary_group *groups, const size_t *rows, size_t n, size_t *frame);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * out_diff_text: a difference for people. First what changed in all; then a table, grown most first; then the stacks
 * of what grew and what appeared; then the same of objects with references.
 *
 *	svc kept 3.1 MiB in 300 blocks, 1.0 MiB more than before (2.1 MiB in 200 blocks)
 *
 *	            change     before        now
 *	  [1]     +1.0 MiB    1.1 MiB    2.1 MiB  grew      cache_insert svc.c:52
 *
 *	objects with references
 *	            change     before        now
 *	  [1]          +20        509        529  grew      dict: leaky_lookup leaky.c:88
 *
 * Where the watches are not equally long, rows of what grows have rates in these columns.
 */
#ifndef MM_OUT_DIFF_TEXT_H
#define MM_OUT_DIFF_TEXT_H

#include "report/diff/diff.h"

/* Append it to @sb: so many groups at most (@top; 0: all), a third of them kept free for what shrank. 0 or -ENOMEM. */
must_check int out_diff_text(const struct diff *d, size_t top, struct strbuf *sb);

#endif

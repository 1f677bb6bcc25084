/* SPDX-License-Identifier: MIT */
/*
 * out_diff_text: a difference as text. First the change in all; then a table, most growth first; then the
 * stacks of what grew and what appeared; then the same for objects with references.
 *
 *	svc: 3.1 MiB in 300 blocks are still live, 1.0 MiB more than before (2.1 MiB in 200 blocks)
 *
 *	            change     before        now
 *	  [1]     +1.0 MiB    1.1 MiB    2.1 MiB  grew      cache_insert svc.c:52
 *
 *	objects with references
 *	            change     before        now
 *	  [1]          +20        509        529  grew      dict: leaky_lookup leaky.c:88
 *
 * If the watches are not equally long, these columns have rates in rows that grow.
 */
#ifndef MM_OUT_DIFF_TEXT_H
#define MM_OUT_DIFF_TEXT_H

#include "report/diff/diff.h"

/*
 * Append it to @sb: at most @top groups (0: all), of which a third is reserved for those that shrank. 0 or
 * -ENOMEM.
 */
must_check int out_diff_text(const struct diff *d, size_t top, struct strbuf *sb);

/* Its lines before the table, not wrapped and without marks. 0 or -ENOMEM. */
must_check int out_diff_text_answer(const struct diff *d, struct strbuf *sb);

#endif

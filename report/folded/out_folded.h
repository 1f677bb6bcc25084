/* SPDX-License-Identifier: MIT */
/*
 * out_folded: a summary as folded stacks, one per line, root first, bytes at the end: for flamegraph.pl,
 * speedscope and others. Lines of the same stack are added up, and sorted (report/folded/folded.h). Wrappers
 * of the allocator are left out. In a sampled run the bytes are the estimated live bytes of the run; groups
 * without any, and groups of which it is not known whether they leak, are left out. A difference has two
 * columns, bytes or objects before and now, for flame graphs of differences.
 */
#ifndef MM_OUT_FOLDED_H
#define MM_OUT_FOLDED_H

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "report/diff/diff.h"
#include "report/model/summary.h"

/* Append all of it to @sb, whatever @top is. 0 or -ENOMEM. */
must_check int out_folded(const struct summary *s, size_t top, struct strbuf *sb);
must_check int out_diff_folded(const struct diff *d, size_t top, struct strbuf *sb);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * out_folded: a summary as folded stacks, root first, bytes at the end, a line for each: for flamegraph.pl, speedscope and others.
 * Lines of the same stack are added up, and sorted (report/folded/folded.h). Wrappers of the allocator are left out.
 * Of a sampled run the bytes are those that are estimated to have been kept over the run, where there are any; what nobody knows to stay is left out.
 * A difference has two columns, bytes or objects before and now, for flame graphs of differences.
 */
#ifndef MM_OUT_FOLDED_H
#define MM_OUT_FOLDED_H

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "report/diff/diff.h"
#include "report/model/summary.h"

/* Append it to @sb, all of it whatever @top is. 0 or -ENOMEM. */
must_check int out_folded(const struct summary *s, size_t top, struct strbuf *sb);
must_check int out_diff_folded(const struct diff *d, size_t top, struct strbuf *sb);

#endif

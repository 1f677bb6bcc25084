/* SPDX-License-Identifier: MIT */
/*
 * out_pprof: reports for pprof, Pyroscope, Parca and what else reads its format: not compressed, which they read
 * as well.
 *
 * Each group of blocks is a sample with the four values of a heap profile: alloc_objects, alloc_space,
 * inuse_objects, inuse_space. All that was allocated is there, also at sites that freed everything. Labels:
 * group ("[3]", as in every report), verdict, age (of the oldest live block), process, pid, and if there are several, family; tag. A family without
 * bytes (descriptors) counts in objects only. References have no place in a heap profile, and are left out.
 *
 * A difference has two values, inuse_objects and inuse_space: what there is more in the new run, or less.
 */
#ifndef MM_OUT_PPROF_H
#define MM_OUT_PPROF_H

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "report/diff/diff.h"
#include "report/model/summary.h"

must_check int out_pprof(const struct summary *s, size_t top, struct strbuf *sb);
must_check int out_diff_pprof(const struct diff *d, size_t top, struct strbuf *sb);

#endif

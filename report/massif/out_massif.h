/* SPDX-License-Identifier: MIT */
/*
 * out_massif: a report as valgrind's massif writes its own (massif.out), for ms_print and massif-visualizer: how
 * many bytes were live in the course of the watch, and the tree of callers at the peak and at the end.
 *
 * The bytes over time are those of the groups' series; a sampled run has none, and only its end is there, with
 * what is estimated to stay. References and descriptors have no bytes, and are left out.
 */
#ifndef MM_OUT_MASSIF_H
#define MM_OUT_MASSIF_H

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "report/model/summary.h"

must_check int out_massif(const struct summary *s, size_t top, struct strbuf *sb);

#endif

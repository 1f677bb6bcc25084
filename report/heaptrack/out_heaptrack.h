/* SPDX-License-Identifier: MIT */
/*
 * out_heaptrack: a report as a data file of heaptrack, for heaptrack_print and heaptrack_gui (from 1.3 on).
 *
 * The file is a list of allocations and frees in their order, of which a report does not have each. So they are
 * made of what is known of each group: how often it allocated and freed, what is live at the end, and what was live
 * at the times of its series. Blocks of a group have its mean size. Nothing is called temporary, since it is not
 * known which blocks are.
 *
 * The file has four million allocations at most, however long the watch was: of more, each stands for several.
 * What is live at the end is right in bytes even then.
 *
 * References and descriptors are no memory, and are left out.
 */
#ifndef MM_OUT_HEAPTRACK_H
#define MM_OUT_HEAPTRACK_H

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "report/model/summary.h"

must_check int out_heaptrack(const struct summary *s, size_t top, struct strbuf *sb);

#endif

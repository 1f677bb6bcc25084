/* SPDX-License-Identifier: MIT */
/*
 * text_scan_head: in the text report of a scan, what was examined and how completely: the process or core,
 * the pause, the allocator's accounting (and whether free memory, not lost blocks, makes the process large),
 * what is corrupt, what is not known.
 */
#ifndef MM_TEXT_SCAN_HEAD_H
#define MM_TEXT_SCAN_HEAD_H

#include "base/strbuf.h"
#include "report/model/scan.h"

void text_scan_head(struct strbuf *sb, const struct scan_report *r);

#endif

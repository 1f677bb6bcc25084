/* SPDX-License-Identifier: MIT */
/*
 * text_scan_trace: how far the stacks of a scan with a trace can be trusted: the lines behind the answer.
 *
 *	stacks are those of the watch, which ended 3m before this scan: 148 of its 150 live blocks have the
 *	same address and size now; 120 were lost then already, so they are the same; the other 28 may have
 *	been freed and allocated again since, by other code; 2 other blocks have the address of one, ...
 */
#ifndef MM_TEXT_SCAN_TRACE_H
#define MM_TEXT_SCAN_TRACE_H

#include "base/strbuf.h"
#include "report/model/scan.h"

/* Nothing without a trace. */
void text_scan_trace(struct strbuf *sb, const struct scan_report *r);

#endif

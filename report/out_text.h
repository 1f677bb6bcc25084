/* SPDX-License-Identifier: MIT */
/*
 * out_text: the summary for people. The first line is the answer; one screen
 * says what was watched, how well, and what was missed; then the groups, most
 * bytes first:
 *
 *	leaky_service (1234) kept 95 blocks, 61.2 KiB, of 12000 allocations in 10s
 *
 *	  command   /usr/bin/leaky_service -x
 *	  ...
 *
 *	61.2 KiB (80%) in 122 blocks of 130 allocated here, 2s to 9.9s old
 *	    #0 session_open (leaky_service+0x12a4) leaky_service.c:44
 *	    #1 handle_request (leaky_service+0x1390) leaky_service.c:92
 *
 * Names come from the target and are made safe for a terminal (base/strbuf.h).
 */
#ifndef MM_OUT_TEXT_H
#define MM_OUT_TEXT_H

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "report/summary.h"

/*
 * Append the report with the first @top groups of the sorted summary (0: all).
 * 0, or -ENOMEM also if the summary itself is not whole.
 */
must_check int out_text(const struct summary *s, size_t top, struct strbuf *sb);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * out_text: the summary for people. One screen answers first: how much is live, how fast it grows, where, and
 * how sure that is. Then double frees; the groups with their stacks, in the order of the tables; and last
 * what was watched, how well, and what was missed, since that is read only if there is doubt:
 *
 *	svc (1234): 2509 blocks, 2.1 MiB, of 52678 allocations in 5m are still allocated, growing by ...
 *
 *	             live  share   blocks  growth                  allocated by
 *	growing
 *	  [1]     1.3 MiB    61%      670  +266 KiB/min            cache_insert leaky_service.c:52
 *
 *	live, but not growing
 *	  [2]     850 KiB    39%     1673  levelled off 4m10s ago  session_open leaky_service.c:42
 *
 *	[1] 1.3 MiB (61%) in 670 blocks of 700 allocated here, 2s to 4m59s old
 *	    grows by 266 KiB/min                    |..::--==++**##%%@@|
 *	    #0 cache_insert (leaky_service+0x12a4) /src/leaky_service.c:52
 *	    #1 handle_request (leaky_service+0x1390) /src/leaky_service.c:92
 *
 *	  command   /usr/bin/leaky_service -x
 *	  ...
 *
 * Names come from the target and are made safe for a terminal (base/strbuf.h).
 */
#ifndef MM_OUT_TEXT_H
#define MM_OUT_TEXT_H

#include <stddef.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "report/model/summary.h"

/*
 * Append the report with @top groups of the sorted summary (0: all): those of the table
 * (report/text/overview.h), then the largest of the others. 0, or -ENOMEM, also if the summary itself is
 * incomplete.
 */
must_check int out_text(const struct summary *s, size_t top, struct strbuf *sb);

/*
 * What it says before its tables, not wrapped and without marks; of an empty report also why it is empty. 0 or
 * -ENOMEM. @rate, if not NULL: how fast memory grows in all, in bytes a minute, as it says.
 */
must_check int out_text_answer(const struct summary *s, struct strbuf *sb, double *rate);

#endif

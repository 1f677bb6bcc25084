/* SPDX-License-Identifier: MIT */
/*
 * out_scan_text: the report of a scan for people. First what is lost, then what else there is; last how it
 * was found:
 *
 *	svc (1234) has 120344 blocks in use, 52.1 MiB: definitely lost 3000 (3.2 MiB), indirectly lost 900
 *	(1.1 MiB), possibly lost none
 *
 *	             bytes  share   blocks  what
 *	definitely lost
 *	  [1]     3.1 MiB     6%     2990  Session, and 1.1 MiB in 900 blocks with them
 *	  [2]     108 KiB   0.2%       10  4120 bytes
 *
 *	still reachable
 *	  [3]    47.8 MiB    92%   116444  std::string's texts ...
 *
 *	[1] 3.1 MiB (6%) in 2990 blocks, definitely lost, and 1.1 MiB in 900 blocks with them
 *	    C++ class Session (svc), 1048 bytes each, for example 0x7f.., 0x7f..
 *
 *	  command   /usr/bin/svc -x
 *	  scanned   2026-11-21 01:46:28 +0000, stopped for 34ms, 12 threads
 *	  ...
 *
 * and, if that was asked, what points where. Names come from the target and are made safe for a terminal
 * (base/strbuf.h).
 */
#ifndef MM_OUT_SCAN_TEXT_H
#define MM_OUT_SCAN_TEXT_H

#include <stddef.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "report/model/scan.h"

/*
 * Append the report of the sorted scan with @top groups (0: all). 0, or -ENOMEM, also if the scan itself is
 * incomplete.
 */
must_check int out_scan_text(const struct scan_report *r, size_t top, struct strbuf *sb);

/* Its lines before the table, not wrapped and without marks. 0 or -ENOMEM. */
must_check int out_scan_text_answer(const struct scan_report *r, struct strbuf *sb);

#endif

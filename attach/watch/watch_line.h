/* SPDX-License-Identifier: MIT */
/*
 * watch_line: what is seen during a watch on a terminal, on one line (base/statusline.h), once a second:
 *
 *	1m12s/10m  45k events  120 blocks, 3.4 MiB live  +1.2 MiB/min  Ctrl-C ends  stopped 0.3% of the time
 *
 * Stopped: as the report says it first, the share of the time of the threads that hit traps
 * (report/model/stop_share.h). Where the terminal is narrow, the least important parts are left out.
 */
#ifndef MM_WATCH_LINE_H
#define MM_WATCH_LINE_H

#include <stdbool.h>
#include <stdint.h>

struct watch;

struct watch_line {
	bool held;			/* an interim report is being made: the terminal is for that */
	uint64_t duration_ns;		/* of the watch; 0: until it is ended */
	/* live bytes half a minute ago, and half a minute before that: for the growth */
	struct watch_line_then {
		uint64_t at_ns, bytes;
	} half, before;
};

void watch_line_show(struct watch *w, uint64_t now_ns);

#endif

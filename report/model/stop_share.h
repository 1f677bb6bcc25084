/* SPDX-License-Identifier: MIT */
/*
 * stop_share: the share of their time for which threads were stopped because of us. The line of progress and
 * the report show the same one first: that of the threads that hit traps, which were slowed down.
 */
#ifndef MM_STOP_SHARE_H
#define MM_STOP_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "report/model/summary.h"

struct stop_share {
	uint64_t threads;		/* on average; 0: not known */
	double stopped_s, time_s;	/* summed over them */
};

/* Of all threads. False: it is not known how many there were. */
bool stop_share_of_all(const struct summary_run *run, struct stop_share *out);

/* Of the threads that hit traps. False: these are nearly all threads, or the share is not known. */
bool stop_share_of_hitting(const struct summary_run *run, struct stop_share *out);

/*
 * Of the thread that the watch has cost most: stopped_s is for how long it was stopped, or, where the kernel takes
 * the hits, at least how long its probes took. False: it is not known, or a budget says what the watch has cost.
 */
bool stop_share_of_worst(const struct summary_run *run, struct stop_share *out);

/* The one that is shown first: of the threads that hit traps, or of all. */
bool stop_share_first(const struct summary_run *run, struct stop_share *out);

/*
 * So large a share that the program was slowed by much more: its threads wait for a stopped one, and for a
 * processor after each stop.
 */
bool stop_share_slows(const struct stop_share *share);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * scan_live: a snapshot and a census of a running process: find it, seize it, stop and copy it once, detach;
 * then count.
 *
 * The process may have been stopped in the middle of the allocator's work, and the census may then be
 * inconsistent. So if its sums differ from the allocator's own, everything is repeated, up to SCAN_PAUSES
 * pauses in all. A difference that remains is reported.
 */
#ifndef MM_SCAN_LIVE_H
#define MM_SCAN_LIVE_H

#include "base/cleanup.h"

struct backing;
struct census;
struct modules;
struct options;
struct scan_report;
struct snapshot;
struct target_info;

#define SCAN_PAUSES 3
#define SCAN_GO_ON_US 5000u	/* before another pause, and twice that before a third one */
#define SCAN_MAX_PAUSE_NS 1000000000ull

/* Where the results go; all zero at first. */
struct scan_live {
	const struct options *opt;
	struct target_info *target;
	struct modules **modules;	/* its files, opened while the process existed */
	struct snapshot *snapshot;
	struct backing *backing;	/* the files of its mappings */
	struct census *census;
	struct scan_report *report;	/* gets what is known by then */
};

/* Afterwards the process is no longer traced. 0 or -errno (logged). */
must_check int scan_live(const struct scan_live *sc, int argc, char **argv);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * scan_live: a snapshot and a census of a running process: find it, seize it, stop and copy it once, leave; then count.
 *
 * The process may have been stopped in the middle of the allocator's work, and the census may then not come out even. So if
 * its sums are not the allocator's own, all is done again, at most SCAN_PAUSES times; what remains is said in the report.
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
#define SCAN_MAX_PAUSE_NS 1000000000ull

/* Where what is found goes; all zero at first. */
struct scan_live {
	const struct options *opt;
	struct target_info *target;
	struct modules **modules;	/* its files, opened while it was there */
	struct snapshot *snapshot;
	struct backing *backing;	/* the files of its mappings */
	struct census *census;
	struct scan_report *report;	/* what is known then */
};

/* The process is free again. 0 or -errno (said). */
must_check int scan_live(const struct scan_live *sc, int argc, char **argv);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * results: from what a watch has counted to a summary that can be printed, and
 * from there to stdout or a file.
 */
#ifndef MM_RESULTS_H
#define MM_RESULTS_H

#include "attach/options.h"
#include "attach/target.h"
#include "attach/targetfs.h"
#include "attach/watch.h"
#include "base/cleanup.h"
#include "base/fdio.h"
#include "report/summary.h"

/* What only the session knows. */
struct results_run {
	int64_t wall_start_ns;
	uint64_t start_ns, end_ns;	/* CLOCK_MONOTONIC */
	const struct target_info *target;
	const struct targetfs *fs;
	bool debuginfod;
	int stop;			/* when this file becomes readable, no more names are looked up */
};

/* Fill @out (initialised here; summary_fini in any case). 0 or -ENOMEM. */
must_check int results_summary(const struct watch *w, const struct results_run *run, struct summary *out);

/*
 * Print it as @opt says into @file, which was opened before the watch (so that a
 * name that cannot be written is refused then), or to stdout if it is not
 * open. 0 or -errno (said).
 */
must_check int results_print(const struct summary *s, const struct options *opt, struct outfile *file);

#endif

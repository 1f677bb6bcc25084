/* SPDX-License-Identifier: MIT */
/*
 * option_scan: handlers of the options of `mmattach scan`, and of those on reachability, which a watch has
 * too (see option_table.h); and the check of their combinations.
 */
#ifndef MM_OPTION_SCAN_H
#define MM_OPTION_SCAN_H

#include "attach/options/options.h"

/* The reason why there are no verdicts. */
#define VERDICTS_UNDER_GDB "gdb is the tracer, and only the tracer can stop all threads of the process and " \
			   "resume them as they were"

int option_verdicts(struct options *o, const char *arg, struct usage_error *err);
int option_max_pause(struct options *o, const char *arg, struct usage_error *err);
int option_core(struct options *o, const char *arg, struct usage_error *err);
int option_exe(struct options *o, const char *arg, struct usage_error *err);
int option_who_points_at(struct options *o, const char *arg, struct usage_error *err);
bool option_who_points_at_takes(enum command command, const char *alternative);
int option_show(struct options *o, const char *arg, struct usage_error *err);
int option_with_trace(struct options *o, const char *arg, struct usage_error *err);

/* 0, or -EINVAL with @err filled. */
must_check int option_scan_check(const struct options *o, struct usage_error *err);

#endif

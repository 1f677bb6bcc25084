/* SPDX-License-Identifier: MIT */
/*
 * option_format: --format, and what goes with which (report/formats.h). What a format cannot print is refused here, before a target is touched.
 */
#ifndef MM_OPTION_FORMAT_H
#define MM_OPTION_FORMAT_H

#include "attach/options/options.h"

/* A line of option_table names it. */
int option_format(struct options *o, const char *arg, struct usage_error *err);

/* Has the format a report of what the command finds? 0, or -EINVAL with @err filled. */
must_check int option_format_check(const struct options *o, struct usage_error *err);

/* Is it one of those that @can do what @option asks for? Likewise. */
must_check int option_format_check_can(const struct options *o, report_format_is *can, const char *option, struct usage_error *err);

#endif

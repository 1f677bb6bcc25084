/* SPDX-License-Identifier: MIT */
/*
 * option_format: --format, and which options go with which format (report/formats.h). What a format cannot
 * print is refused here, before a target is touched.
 */
#ifndef MM_OPTION_FORMAT_H
#define MM_OPTION_FORMAT_H

#include "attach/options/options.h"

/* The handler, for option_table. */
int option_format(struct options *o, const char *arg, struct usage_error *err);
bool option_format_takes(enum command command, const char *name);

/* Has the format a report of what the command finds? 0, or -EINVAL with @err filled. */
must_check int option_format_check(const struct options *o, struct usage_error *err);

/* Is it a format that @can do what @option asks for? 0, or -EINVAL with @err filled. */
must_check int option_format_check_can(const struct options *o, report_format_is *can, const char *option,
				       struct usage_error *err);

#endif

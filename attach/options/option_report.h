/* SPDX-License-Identifier: MIT */
/* option_report: the handlers of the options on what is reported, and where it goes; for option_table. */
#ifndef MM_OPTION_REPORT_H
#define MM_OPTION_REPORT_H

#include "attach/options/options.h"

typedef int option_handler(struct options *o, const char *arg, struct usage_error *err);

option_handler option_report_file, option_metrics, option_output, option_top, option_older_than,
	option_min_bytes, option_focus, option_ignore, option_suppressions, option_wrappers, option_color,
	option_error_exitcode, option_interval, option_rotate, option_on_trace_error, option_maps;

#endif

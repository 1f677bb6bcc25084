/* SPDX-License-Identifier: MIT */
#include "attach/options/option_report.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "attach/options/option_arg.h"
#include "base/duration.h"

int option_report_file(struct options *o, const char *arg, struct usage_error *err)
{
	if (!*arg)
		return usage_refuse(err, "--report: the file name is empty");
	o->report = arg;
	return 0;
}

int option_metrics(struct options *o, const char *arg, struct usage_error *err)
{
	if (!*arg)
		return usage_refuse(err, "--metrics: the file name is empty");
	o->metrics = arg;
	return 0;
}

int option_output(struct options *o, const char *arg, struct usage_error *err)
{
	if (!*arg)
		return usage_refuse(err, "-o: the file name is empty");
	if (o->output)
		return usage_refuse(err, "-o is given twice");
	o->output = arg;
	return 0;
}

int option_top(struct options *o, const char *arg, struct usage_error *err)
{
	unsigned long n;

	if (!option_number(arg, UINT_MAX, &n))
		return usage_refuse(err, "--top %s: must be a number (0 for all)", arg);
	o->shown.top = (unsigned)n;
	return 0;
}

static int take_duration(const char *option, const char *arg, uint64_t *ns, struct usage_error *err)
{
	if (!duration_parse(arg, ns))
		return 0;
	usage_refuse(err, "%s %s: not a duration", option, arg);
	return usage_advise(err, "write it as 30s, 10m or 1h30m");
}

int option_older_than(struct options *o, const char *arg, struct usage_error *err)
{
	return take_duration("--older-than", arg, &o->shown.older_than_ns, err);
}

int option_interval(struct options *o, const char *arg, struct usage_error *err)
{
	int r = take_duration("--interval", arg, &o->interval_ns, err);

	if (r == 0 && o->interval_ns < OPTIONS_INTERVAL_MIN_NS)
		return usage_refuse(err, "--interval %s: must be at least 1s", arg);
	return r;
}

int option_min_bytes(struct options *o, const char *arg, struct usage_error *err)
{
	return option_size("--min-bytes", arg, &o->shown.min_bytes, err);
}

int option_rotate(struct options *o, const char *arg, struct usage_error *err)
{
	int r = option_size("--rotate", arg, &o->trace.rotate_bytes, err);

	if (r == 0 && o->trace.rotate_bytes < OPTIONS_ROTATE_MIN)
		return usage_refuse(err, "--rotate %s: must be at least 64K", arg);
	return r;
}

int option_focus(struct options *o, const char *arg, struct usage_error *err)
{
	(void)err;
	return option_add(&o->shown.focus, arg);
}

int option_ignore(struct options *o, const char *arg, struct usage_error *err)
{
	(void)err;
	return option_add(&o->shown.ignore, arg);
}

int option_suppressions(struct options *o, const char *arg, struct usage_error *err)
{
	(void)err;
	return option_add(&o->shown.suppressions, arg);
}

int option_wrappers(struct options *o, const char *arg, struct usage_error *err)
{
	unsigned which;
	int ret = option_choose("--wrappers", WRAPPERS_VALUES, arg, &which, err);

	if (ret == 0)
		o->shown.keep_wrappers = which;
	return ret;
}

int option_color(struct options *o, const char *arg, struct usage_error *err)
{
	unsigned which;
	int ret = option_choose("--color", COLOR_VALUES, arg, &which, err);

	if (ret == 0)
		o->shown.color = (enum color_wish)which;
	return ret;
}

int option_error_exitcode(struct options *o, const char *arg, struct usage_error *err)
{
	unsigned long n;

	if (!option_number(arg, 255, &n))
		return usage_refuse(err, "--error-exitcode %s: must be a number from 0 to 255", arg);
	o->error_exitcode = (int)n;
	return 0;
}

int option_on_trace_error(struct options *o, const char *arg, struct usage_error *err)
{
	unsigned which;
	int ret = option_choose("--on-trace-error", ON_TRACE_ERROR_VALUES, arg, &which, err);

	if (ret == 0)
		o->trace.end_on_error = which;
	return ret;
}

int option_maps(struct options *o, const char *arg, struct usage_error *err)
{
	if (!*arg)
		return usage_refuse(err, "--maps: the file name is empty");
	o->maps = arg;
	return 0;
}

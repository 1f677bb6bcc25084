/* SPDX-License-Identifier: MIT */
#include "attach/options/option_format.h"

#include <string.h>
#include <unistd.h>

#include "attach/options/option_arg.h"

int option_format(struct options *o, const char *arg, struct usage_error *err)
{
	unsigned which;
	int ret = option_choose("--format", REPORT_FORMAT_ALTERNATIVES, arg, &which, err);

	if (ret == 0)
		o->format = report_formats[which];
	return ret;
}

/* The test for a format that has a report of what the command finds. */
static report_format_is *fits(enum command command)
{
	switch (command) {
	case COMMAND_SCAN:
		return report_format_of_scan;
	case COMMAND_DIFF:
		return report_format_of_diff;
	default:
		return report_format_of_watch;
	}
}

bool option_format_takes(enum command command, const char *name)
{
	for (const struct report_format *const *f = report_formats; *f; f++)
		if (!strcmp((*f)->name, name))
			return fits(command)(*f);
	return false;
}

static int check_binary(const struct options *o, struct usage_error *err)
{
	const bool to_stdout = !o->report && (o->command == COMMAND_WATCH || !o->output);

	if (!o->format->is_binary || !to_stdout)
		return 0;
	if (isatty(STDOUT_FILENO)) {
		usage_refuse(err, "--format %s: it is binary, and not for a terminal", o->format->name);
		return usage_advise(err, o->command == COMMAND_WATCH ? "--report FILE" : "-o FILE");
	}
	if (!o->interval_ns || o->follow)	/* of which only the last report is binary */
		return 0;
	usage_refuse(err, "--format %s: the reports of --interval would be one binary file", o->format->name);
	return usage_advise(err, "--report FILE, which is written anew each time");
}

int option_format_check(const struct options *o, struct usage_error *err)
{
	cleanup_strbuf struct strbuf names = STRBUF_INIT;
	const char *why = o->format->why_not;

	if (fits(o->command)(o->format))
		return check_binary(o, err);
	report_formats_list(&names, fits(o->command), " and ");
	usage_refuse(err, "--format %s: %s", o->format->name, why ? why : "it has no such report");
	return usage_advise(err, "formats that have this report: %s", strbuf_str(&names));
}

int option_format_check_can(const struct options *o, report_format_is *can, const char *option,
			    struct usage_error *err)
{
	cleanup_strbuf struct strbuf names = STRBUF_INIT;

	if (can(o->format))
		return 0;
	report_formats_list(&names, can, " and ");
	if (can == report_format_for_people)
		return usage_refuse(err, "%s goes with the %s report only", option, strbuf_str(&names));
	return usage_refuse(err, "%s goes with --format %s only", option, strbuf_str(&names));
}

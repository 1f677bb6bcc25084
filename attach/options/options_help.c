/* SPDX-License-Identifier: MIT */
#include "attach/options/options_help.h"

#include <string.h>

#include "attach/options/option_table.h"
#include "base/log.h"

#define HELP_COLUMN 24

static void help_line(FILE *out, const struct option_line *line)
{
	char left[96];
	const char *text = line->help;
	size_t n;

	if (line->letter)
		snprintf(left, sizeof(left), "-%c, --%s%s%s", line->letter, line->name, line->arg ? " " : "",
			 line->arg ? line->arg : "");
	else
		snprintf(left, sizeof(left), "    --%s%s%s", line->name, line->arg ? " " : "",
			 line->arg ? line->arg : "");
	n = strcspn(text, "\n");
	/* an option too long for the column gets a line of its own */
	if (strlen(left) > HELP_COLUMN)
		fprintf(out, "  %s\n", left);
	fprintf(out, "  %-*s %.*s\n", HELP_COLUMN, strlen(left) > HELP_COLUMN ? "" : left, (int)n, text);
	while (text[n]) {
		text += n + 1;
		n = strcspn(text, "\n");
		fprintf(out, "  %-*s %.*s\n", HELP_COLUMN, "", (int)n, text);
	}
}

static void help_domains(FILE *out)
{
	const char *name, *what;

	fputs("\nDomains of --debug (all: every one):\n", out);
	for (size_t i = 0; log_domain_describe(i, &name, &what); i++)
		fprintf(out, "  %-10s %s\n", name, what);
}

static const struct usage {
	enum command command;
	const char *form, *what;
} usages[] = {
	{ COMMAND_WATCH, "mmattach [options] (-p PID | -n NAME | -- PROGRAM ARG...)", "" },
	{ COMMAND_REPORT, "mmattach report TRACE...", "the report of a saved watch" },
	{ COMMAND_DIFF, "mmattach diff OLD NEW", "what grew, what appeared, what went" },
	{ COMMAND_SHRINK, "mmattach shrink TRACE... -o OUT", "keep what is live, and totals" },
	{ COMMAND_IMPORT, "mmattach import mmleak|mtrace FILE... [--maps FILE] -o OUT", "" },
	{ COMMAND_SCAN, "mmattach scan -p PID | --core FILE", "what is in use now, and what of it is lost" },
	{ COMMAND_PROBES, "mmattach probes [-p PID | -n NAME]", "where traps would go, and what they cost" },
	{ COMMAND_REPAIR, "mmattach repair PID", "take out traps that a killed keeper left behind" },
	{ COMMAND_HELP, "mmattach help [COMMAND]", "all options, or those of a command" },
};

static void usage_line(FILE *out, const struct usage *u, bool first)
{
	fprintf(out, "%s%-*s%s\n", first ? "usage: " : "       ", *u->what ? 39 : 0, u->form, u->what);
}

void options_usage(FILE *out)
{
	for (size_t i = 0; i < sizeof(usages) / sizeof(usages[0]); i++)
		usage_line(out, &usages[i], i == 0);
}

static void help_options(enum command about, FILE *out)
{
	for (size_t i = 0; i < option_count; i++)
		if (about == COMMAND_WATCH || option_table[i].commands >> about & 1)
			help_line(out, &option_table[i]);
}

static void help_command(enum command about, FILE *out)
{
	for (size_t i = 0; i < sizeof(usages) / sizeof(usages[0]); i++)
		if (usages[i].command == about)
			usage_line(out, &usages[i], true);
	fputc('\n', out);
	help_options(about, out);
	fputs("\nMore: mmattach help, man mmattach\n", out);
}

void options_help(enum command about, FILE *out)
{
	if (about != COMMAND_WATCH) {
		help_command(about, out);
		return;
	}
	options_usage(out);
	fputs("\nWatches the allocations and releases of a running process, and says which code keeps\n"
	      "what it takes. Nothing is loaded into the process; afterwards it goes on as it was.\n\n", out);
	help_options(about, out);
	help_domains(out);
	fputs("\nFor example:\n"
	      "  mmattach -p 1234 -d 10m\n"
	      "  mmattach -n my_service -d 1h --format json --report leaks.json\n"
	      "  mmattach -p 1234 -d 8h -o svc.mmt --rotate 100M; mmattach report svc.*.mmt\n"
	      "  mmattach scan -p 1234; mmattach scan --core core.1234 --who-points-at 7f12a4003010\n"
	      "  mmattach --probe 'alloc pool_get' --probe 'free pool_put' -- ./my_program --its-option\n",
	      out);
}

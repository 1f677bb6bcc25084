/* SPDX-License-Identifier: MIT */
#include "attach/options_help.h"

#include <string.h>

#include "attach/option_table.h"
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
	/* one that is too long for the column has a line of its own */
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

void options_usage(FILE *out)
{
	fputs("usage: mmattach [options] (-p PID | -n NAME | -- PROGRAM ARG...)\n"
	      "       mmattach report TRACE...               the report of a saved watch\n"
	      "       mmattach diff OLD NEW                  what grew, what appeared, what went\n"
	      "       mmattach shrink TRACE... -o OUT        keep what is live, and totals\n"
	      "       mmattach import mmleak|mtrace FILE... [--maps FILE] -o OUT\n"
	      "       mmattach scan -p PID | --core FILE     what is in use now, and what of it is lost\n"
	      "       mmattach probes [-p PID | -n NAME]     where traps would go, and what they cost\n"
	      "       mmattach repair PID                    take out traps that a killed keeper left behind\n", out);
}

void options_help(FILE *out)
{
	options_usage(out);
	fputs("\nWatches the allocations and releases of a running process, and says which code keeps\n"
	      "what it takes. Nothing is loaded into the process; afterwards it goes on as it was.\n\n", out);
	for (size_t i = 0; i < option_count; i++)
		help_line(out, &option_table[i]);
	help_domains(out);
	fputs("\nFor example:\n"
	      "  mmattach -p 1234 -d 10m\n"
	      "  mmattach -n my_service -d 1h --format json --report leaks.json\n"
	      "  mmattach -p 1234 -d 8h -o svc.mmt --rotate 100M; mmattach report svc.*.mmt\n"
	      "  mmattach scan -p 1234; mmattach scan --core core.1234 --who-points-at 7f12a4003010\n"
	      "  mmattach --probe 'alloc pool_get' --probe 'free pool_put' -- ./my_program --its-option\n", out);
}

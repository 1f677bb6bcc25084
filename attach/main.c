/* SPDX-License-Identifier: MIT */
/*
 * main: from the command line to what it asks for.
 */
#include <stdio.h>

#include "attach/options.h"
#include "attach/probes_cmd.h"
#include "attach/repair.h"
#include "attach/session.h"

static int carry_out(const struct options *opt, int argc, char **argv)
{
	switch (opt->command) {
	case COMMAND_WATCH:
		return session_run(opt, argc, argv);
	case COMMAND_PROBES:
		return probes_cmd(opt, stdout);
	case COMMAND_REPAIR:
		return repair(opt->pid, stdout);
	default:
		return 2;
	}
}

int main(int argc, char **argv)
{
	struct options opt;
	int status;

	if (options_start(argc, argv, &opt, &status))
		status = carry_out(&opt, argc, argv);
	options_fini(&opt);
	return status;
}

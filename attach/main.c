/* SPDX-License-Identifier: MIT */
/*
 * main: from the command line to what it asks for.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

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

/* Started with stdin, stdout or stderr closed: what we open must not take their numbers. */
static void fill_stdio(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= 2);
	if (fd > 2)
		close(fd);
}

int main(int argc, char **argv)
{
	struct options opt;
	int status;

	fill_stdio();

	if (options_start(argc, argv, &opt, &status))
		status = carry_out(&opt, argc, argv);
	options_fini(&opt);
	return status;
}

/* SPDX-License-Identifier: MIT */
/*
 * main: reads the command line and runs the command it names.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attach/cli/ask.h"
#include "attach/cli/complete.h"
#include "attach/cli/file_cmds.h"
#include "attach/cli/formats_cmd.h"
#include "attach/cli/probes_cmd.h"
#include "attach/cli/scan_cmd.h"
#include "attach/control/repair.h"
#include "attach/many/many.h"
#include "attach/options/option_many.h"
#include "attach/options/options.h"
#include "attach/top/top_cmd.h"
#include "attach/watch/session.h"
#include "base/log.h"

static int carry_out(const struct options *opt, int argc, char **argv)
{
	switch (opt->command) {
	case COMMAND_WATCH:
		if (option_many_wanted(opt))
			return many_run(opt, argc, argv);
		return session_run(opt, NULL, argc, argv);
	case COMMAND_GDB:
		return session_run(opt, NULL, argc, argv);
	case COMMAND_PROBES:
		return probes_cmd(opt, stdout);
	case COMMAND_SCAN:
		return scan_cmd(opt, argc, argv);
	case COMMAND_TOP:
		return top_cmd(opt, argc, argv);
	case COMMAND_REPAIR:
		return repair(opt->pid, stdout);
	case COMMAND_FORMATS:
		return formats_cmd(opt->formats, stdout);
	case COMMAND_REPORT:
	case COMMAND_DIFF:
	case COMMAND_SHRINK:
	case COMMAND_MERGE:
	case COMMAND_IMPORT:
		return file_cmd(opt);
	default:
		return 2;
	}
}

/*
 * If we were started with stdin, stdout or stderr closed, files that we open must not get their numbers. They
 * are opened the wrong way round, so that a report to a closed stdout is an error and is not lost in silence.
 */
static void fill_stdio(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) < 0)
			return;
}

/* What was printed may not have been written: the disk is full, or the pipe has no reader. */
static int flush_results(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	log_error_errno(errno, "cannot write to stdout");
	return status ? status : 1;
}

/* @nargs, @args: the command line; @argc, @argv: our own, whose memory shows what this process is (in ps). */
static int start(int nargs, char **args, int argc, char **argv)
{
	struct options opt;
	int status;

	if (options_start(nargs, args, &opt, &status))
		status = carry_out(&opt, argc, argv);
	options_fini(&opt);
	return status;
}

static int ask_and_carry_out(int argc, char **argv)
{
	struct ask answers;
	int status = 2, r = ask(argv[0], stdin, stderr, &answers);

	if (r == 0)
		status = start(answers.argc, answers.argv, argc, argv);
	else if (r != -ECANCELED)
		log_error_errno(r, "cannot ask");
	ask_fini(&answers);
	return status;
}

int main(int argc, char **argv)
{
	fill_stdio();
	if (argc == 1 && isatty(STDIN_FILENO) && isatty(STDERR_FILENO))
		return flush_results(ask_and_carry_out(argc, argv));
	if (argc > 1 && !strcmp(argv[1], "complete"))
		return flush_results(complete(argc - 2, argv + 2, stdout));
	return flush_results(start(argc, argv, argc, argv));
}

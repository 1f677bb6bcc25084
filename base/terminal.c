/* SPDX-License-Identifier: MIT */
#include "base/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define COLUMNS 80

bool terminal_is_capable(int fd)
{
	const char *term = getenv("TERM");

	return isatty(fd) && term && *term && strcmp(term, "dumb") != 0;
}

bool terminal_is_ours(int fd)
{
	return tcgetpgrp(fd) == getpgrp();
}

bool terminal_may_write(int fd)
{
	const pid_t foreground = tcgetpgrp(fd);

	return foreground < 0 || foreground == getpgrp();
}

unsigned terminal_columns(int fd)
{
	struct winsize size = { 0 };

	return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : COLUMNS;
}

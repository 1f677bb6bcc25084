/* SPDX-License-Identifier: MIT */
/* screen: a terminal in the place of stderr, for a test; what was written to it is read as text. */
#ifndef MM_TEST_SCREEN_H
#define MM_TEST_SCREEN_H

#include <fcntl.h>
#include <pty.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/statusline.h"

struct screen {
	int ours, stderr_before;
	char text[65536];
};

/* Setup and teardown of a test; *state is the screen, 80 columns wide. */
static inline int screen_begin(void **state)
{
	const struct winsize size = { .ws_row = 24, .ws_col = 80 };
	struct screen *s = calloc(1, sizeof(*s));
	int theirs;

	setenv("TERM", "xterm", 1);
	if (!s || openpty(&s->ours, &theirs, NULL, NULL, &size) < 0)
		return -1;
	s->stderr_before = dup(STDERR_FILENO);
	dup2(theirs, STDERR_FILENO);
	close(theirs);
	fcntl(s->ours, F_SETFL, O_NONBLOCK);
	statusline_open();
	*state = s;
	return 0;
}

static inline int screen_end(void **state)
{
	struct screen *s = *state;

	statusline_close();
	dup2(s->stderr_before, STDERR_FILENO);
	close(s->stderr_before);
	close(s->ours);
	free(s);
	return 0;
}

/* What has come since the last time. */
static inline const char *screen_read(struct screen *s)
{
	size_t len = 0;
	ssize_t n;

	while (len < sizeof(s->text) - 1 && (n = read(s->ours, s->text + len, sizeof(s->text) - 1 - len)) > 0)
		len += (size_t)n;
	s->text[len] = '\0';
	return s->text;
}

static inline double screen_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

#endif

/* SPDX-License-Identifier: MIT */
/* statusline: see statusline.h. Like the log, it is one for the whole process. */
#include "base/statusline.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/terminal.h"

#define ERASE "\r\033[K"
#define TO_THE_END "\033[K"
#define LINE_MAX_BYTES 512
#define FIRST_NS 1000000000u
#define EVERY_NS 200000000u
#define LARGE_BYTES (UINT64_C(1) << 30)

static atomic_bool is_open, is_shown;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* After su(1) the terminal may be another user's: then only as the controlling terminal can it be opened. */
static int open_again(void)
{
	const int flags = O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	int fd = open("/proc/self/fd/2", flags);

	return fd < 0 && terminal_is_ours(STDERR_FILENO) ? open("/dev/tty", flags) : fd;
}

static bool put(const char *s, size_t n)
{
	ssize_t done = -1;
	int fd;

	if (!terminal_may_write(STDERR_FILENO))
		return false;
	fd = open_again();
	if (fd < 0)
		return false;
	done = write(fd, s, n);
	close(fd);
	return done > 0;
}

void statusline_open(void)
{
	is_open = terminal_is_capable(STDERR_FILENO);
}

void statusline_close(void)
{
	statusline_erase();
	is_open = false;
}

bool statusline_is_open(void)
{
	return is_open;
}

/* How many bytes of @text fit: a character that is not ASCII may be two columns wide. */
static size_t fitting(const char *text, size_t columns)
{
	size_t n = 0;

	while (text[n] && n < LINE_MAX_BYTES) {
		size_t bytes = 1, wide = (unsigned char)text[n] < 0x80 ? 1 : 2;

		while (((unsigned char)text[n + bytes] & 0xc0) == 0x80)
			bytes++;
		if (wide > columns)
			break;
		columns -= wide;
		n += bytes;
	}
	return n;
}

void statusline_show(const char *text)
{
	char line[LINE_MAX_BYTES + 32];
	size_t fit;
	int n;

	if (!is_open)
		return;
	/* the last column stays free: in it some terminals wrap already */
	fit = fitting(text, terminal_columns(STDERR_FILENO) - 1);
	n = snprintf(line, sizeof(line), "\r%.*s" TO_THE_END, (int)fit, text);
	if (n > 0 && (size_t)n < sizeof(line) && put(line, (size_t)n))
		is_shown = true;
}

void statusline_step(const char *what, uint64_t bytes)
{
	char text[120];

	if (bytes < LARGE_BYTES)
		return;
	snprintf(text, sizeof(text), "%s: %.1f GiB", what, (double)bytes / (double)(UINT64_C(1) << 30));
	statusline_show(text);
}

const char *statusline_take(void)
{
	return atomic_exchange(&is_shown, false) ? ERASE : "";
}

void statusline_erase(void)
{
	const char *erase = statusline_take();

	if (*erase)
		put(erase, strlen(erase));
}

bool statusline_due(struct statusline_work *w)
{
	uint64_t now;

	if (!is_open)
		return false;
	now = now_ns();
	if (!w->began_ns)
		w->began_ns = now;
	if (now - w->began_ns < FIRST_NS || now - w->shown_ns < EVERY_NS)
		return false;
	w->shown_ns = now;
	return true;
}

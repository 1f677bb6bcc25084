/* SPDX-License-Identifier: MIT */
/* jailed: see jailed.h. */
#include "heap/snapshot/jailed.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fdio.h"
#include "symbolize/jail.h"

#define FD_OUT 3

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Standard streams become /dev/null, FD_OUT leads to the parent, all others are closed. */
static bool place_fds(int out)
{
	int null = open_null();

	if (null >= 0 && null < FD_OUT)
		null = fcntl(null, F_DUPFD_CLOEXEC, FD_OUT);
	if (out < FD_OUT || null == FD_OUT)
		out = fcntl(out, F_DUPFD_CLOEXEC, FD_OUT + 1);
	if (null < 0 || out < 0)
		return false;
	for (int fd = 0; fd < FD_OUT; fd++) {
		if (dup2(null, fd) < 0)
			return false;
	}
	if (out != FD_OUT && dup2(out, FD_OUT) < 0)
		return false;
	closefrom(FD_OUT + 1);
	return true;
}

static void run(void (*work)(void *ctx, int out), void *ctx, uint64_t memory_bytes, unsigned seconds, int out)
{
	if (!place_fds(out) || jail_limit(memory_bytes, seconds))
		_exit(1);
	jail_close();
	work(ctx, FD_OUT);
	_exit(0);
}

int jailed_start(void (*work)(void *ctx, int out), void *ctx, uint64_t memory_bytes, unsigned seconds,
		 struct jailed *out)
{
	int fds[2], err;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	out->pid = jail_fork("mm-classes");
	if (out->pid == 0)
		run(work, ctx, memory_bytes, seconds, fds[1]);
	err = errno;
	close(fds[1]);
	out->fd = fds[0];
	out->deadline_ns = now_ns() + seconds * 1000000000ull;
	if (out->pid > 0)
		return 0;
	close(fds[0]);
	return -err;
}

/* true: there is output to read, or the end of it, before the deadline. */
static bool wait_for(const struct jailed *j)
{
	struct pollfd p = { .fd = j->fd, .events = POLLIN };
	uint64_t now;
	int got;

	do {
		now = now_ns();
		if (now >= j->deadline_ns)
			return false;
		got = poll(&p, 1, (int)((j->deadline_ns - now) / 1000000 + 1));
	} while (got < 0 && errno == EINTR);
	return got > 0;
}

bool jailed_read(struct jailed *j, void *buf, size_t n)
{
	char *to = buf;

	while (n) {
		ssize_t got = wait_for(j) ? read(j->fd, to, n) : 0;

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		to += got;
		n -= (size_t)got;
	}
	return true;
}

void jailed_stop(struct jailed *j)
{
	pid_t got;

	close(j->fd);
	kill(j->pid, SIGKILL);
	do {
		got = waitpid(j->pid, NULL, 0);
	} while (got < 0 && errno == EINTR);
}

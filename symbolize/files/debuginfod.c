/* SPDX-License-Identifier: MIT */
/* debuginfod: see debuginfod.h. The program writes the path of the file in its cache to stdout. */
#include "symbolize/files/debuginfod.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "symbolize/files/debugfile.h"
#include "symbolize/files/safeopen.h"

#define WAIT_MS 1000

/* The limit of address space is for our own reading; the program may use as much as it needs. */
static void run_find(const char *id, int out)
{
	struct rlimit limit;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!getrlimit(RLIMIT_AS, &limit)) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_AS, &limit);
	}
	if (dup2(out, STDOUT_FILENO) < 0)
		_exit(127);
	execlp("debuginfod-find", "debuginfod-find", "debuginfo", id, (char *)NULL);
	_exit(127);
}

static int start_find(const char *id, pid_t *pid, int *fd)
{
	int pipes[2];

	if (pipe2(pipes, O_CLOEXEC))
		return -errno;
	*pid = fork();
	if (*pid == 0)
		run_find(id, pipes[1]);
	close(pipes[1]);
	if (*pid < 0) {
		close(pipes[0]);
		return -EAGAIN;
	}
	*fd = pipes[0];
	return 0;
}

/* Read a line of at most @n - 1 bytes. */
static int read_line(int fd, void (*waiting)(void *ctx), void *ctx, char *line, size_t n)
{
	uint64_t waited = 0;
	size_t have = 0;

	while (have < n - 1) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		ssize_t got;

		if (poll(&p, 1, WAIT_MS) <= 0) {
			waited += WAIT_MS * UINT64_C(1000000);
			if (waited >= DEBUGINFOD_NS)
				return -ETIMEDOUT;
			waiting(ctx);
			continue;
		}
		got = read(fd, line + have, n - 1 - have);
		if (got <= 0)
			break;
		have += (size_t)got;
	}
	line[have] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return line[0] == '/' ? 0 : -ENOENT;
}

static int find(const char *id, void (*waiting)(void *ctx), void *ctx, char *path, size_t n)
{
	cleanup_close int fd = -1;
	pid_t pid = -1;
	int status, rc = start_find(id, &pid, &fd);

	if (rc)
		return rc;
	rc = read_line(fd, waiting, ctx, path, n);
	kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return rc;
}

int debuginfod_open(const struct build_id *id, void (*waiting)(void *ctx), void *ctx, struct elffile *out)
{
	char text[2 * BUILD_ID_MAX + 1], path[PATH_MAX];
	int fd, rc;

	if (!id->n)
		return -ENOENT;
	for (size_t i = 0; i < id->n; i++)
		snprintf(text + 2 * i, 3, "%02x", id->bytes[i]);
	rc = find(text, waiting, ctx, path, sizeof(path));
	if (rc)
		return rc;
	fd = safeopen(-1, path);
	return fd < 0 ? fd : debugfile_take(fd, id, out);
}

/* SPDX-License-Identifier: MIT */
#include "attach/target/targetfs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/keeper/procfs.h"
#include "base/fdio.h"
#include "symbolize/perfmap.h"

#define STATUS_MAX 65536

/* The last number of "NSpid:" in /proc/PID/status; @pid itself where there are no namespaces. */
static pid_t inner_pid(pid_t pid)
{
	cleanup_free char *text = NULL;
	char path[32], *line, *last;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (read_whole_file(path, STATUS_MAX, &text, &n) < 0)
		return pid;
	line = strstr(text, "\nNSpid:");
	if (!line)
		return pid;
	line = strtok(line + 1, "\n");
	last = strrchr(line, '\t');
	return last ? atoi(last + 1) : pid;
}

void targetfs_open(pid_t pid, struct targetfs *out)
{
	struct stat st;
	char path[32];

	*out = (struct targetfs)TARGETFS_INIT;
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (stat(path, &st) == 0)
		out->owner = st.st_uid;
	/* through a living thread: a first thread that has ended has no root */
	snprintf(path, sizeof(path), "/proc/%d/root", (int)procfs_living_thread(pid));
	out->root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	out->inner_pid = inner_pid(pid);
}

void targetfs_fini(struct targetfs *fs)
{
	if (fs->root >= 0)
		close(fs->root);
	fs->root = -1;
}

static int open_below(const struct targetfs *fs, const char *path)
{
	const struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd;

	if (fs->root < 0)
		return -ENOENT;
	fd = syscall(SYS_openat2, fs->root, path, &how, sizeof(how));
	return fd < 0 ? -errno : fd;
}

static bool is_the_targets(const struct targetfs *fs, int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_uid == fs->owner || st.st_uid == 0);
}

int targetfs_read_perfmap(const struct targetfs *fs, struct perfmap *out)
{
	cleanup_close int fd = -1;
	char path[48], *text;
	size_t n;
	int r;

	snprintf(path, sizeof(path), "tmp/perf-%d.map", (int)fs->inner_pid);
	fd = open_below(fs, path);
	if (fd < 0)
		return fd;
	if (!is_the_targets(fs, fd))
		return -EACCES;
	r = read_whole_fd(fd, PERFMAP_BYTES_MAX, &text, &n);
	return r < 0 ? r : perfmap_parse(text, n, out);
}

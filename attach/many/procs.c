/* SPDX-License-Identifier: MIT */
#include "attach/many/procs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/target/target.h"
#include "attach/target/target_find.h"
#include "base/fdio.h"

#define LIMIT (1u << 20)
#define EXE_MAX 4096

static int read_file(int proc, pid_t pid, const char *name, char **text)
{
	char path[64];
	size_t n;
	int r;

	*text = NULL;
	snprintf(path, sizeof(path), "%d/%s", (int)pid, name);
	r = read_whole_file_at(proc, path, LIMIT, text, &n);
	return r == -ENOENT ? -ESRCH : r;
}

static void read_exe(int proc, pid_t pid, char *out)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "%d/exe", (int)pid);
	n = readlinkat(proc, path, out, EXE_MAX - 1);
	out[n < 0 ? 0 : n] = '\0';
}

bool procs_is_called(int proc, pid_t pid, const char *comm, const char *name)
{
	cleanup_free char *words = NULL;
	char exe[EXE_MAX];

	if (!strcmp(comm, name))
		return true;
	read_exe(proc, pid, exe);
	if (read_file(proc, pid, "cmdline", &words) < 0)
		return false;
	return target_is_called(comm, exe, words, name);
}

char *procs_cgroup(int proc, pid_t pid)
{
	char *text;

	return read_file(proc, pid, "cgroup", &text) < 0 ? NULL : text;
}

pid_t procs_process_of(pid_t id)
{
	return (pid_t)target_status_number(id, "Tgid");
}

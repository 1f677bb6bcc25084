/* SPDX-License-Identifier: MIT */
#include "attach/many/procs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/target/target.h"
#include "attach/target/target_find.h"
#include "base/fdio.h"

#define PF_KTHREAD 0x00200000	/* include/linux/sched.h */
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

/* Between the first ( and the last ): comm may have any character. */
static void copy_comm(const char *text, const char *end, char *out)
{
	const char *begin = strchr(text, '(');
	size_t n = begin && begin < end ? (size_t)(end - begin - 1) : 0;

	if (n > PROCS_COMM - 1)
		n = PROCS_COMM - 1;
	memcpy(out, n ? begin + 1 : "", n);
	out[n] = '\0';
}

static int parse_stat(const char *text, struct procs_stat *out)
{
	const char *end = strrchr(text, ')');
	unsigned long flags;
	uint64_t ticks;

	*out = (struct procs_stat){ 0 };
	if (!end || sscanf(end + 1, " %c %d %*d %d %*d %*d %lu %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %" SCNu64,
			   &out->state, &out->parent, &out->session, &flags, &ticks) != 5)
		return -EIO;
	copy_comm(text, end, out->comm);
	out->kernel_thread = flags & PF_KTHREAD;
	out->start_ns = ticks * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
	return 0;
}

int procs_stat(int proc, pid_t pid, struct procs_stat *out)
{
	cleanup_free char *text = NULL;
	int r = read_file(proc, pid, "stat", &text);

	return r < 0 ? r : parse_stat(text, out);
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

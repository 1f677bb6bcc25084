/* SPDX-License-Identifier: MIT */
#include "attach/target/procstat.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fdio.h"

#define PF_KTHREAD 0x00200000	/* include/linux/sched.h */
#define LIMIT 4096u

/* Between the first ( and the last ): comm may have any character. */
static void copy_comm(const char *text, const char *end, char *out)
{
	const char *begin = strchr(text, '(');
	size_t n = begin && begin < end ? (size_t)(end - begin - 1) : 0;

	if (n > PROCSTAT_COMM - 1)
		n = PROCSTAT_COMM - 1;
	memcpy(out, n ? begin + 1 : "", n);
	out[n] = '\0';
}

static int parse(const char *text, struct procstat *out)
{
	const char *end = strrchr(text, ')');
	unsigned long flags;
	uint64_t ticks;

	*out = (struct procstat){ 0 };
	if (!end ||
	    sscanf(end + 1,
		   " %c %d %*d %d %*d %*d %lu %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %" SCNu64
		   " %*u %*d %*u %*u %*u %" SCNu64,
		   &out->state, &out->parent, &out->session, &flags, &ticks, &out->stack_start) != 6)
		return -EIO;
	copy_comm(text, end, out->comm);
	out->kernel_thread = flags & PF_KTHREAD;
	out->start_ns = ticks * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
	return 0;
}

int procstat_read(int proc, pid_t pid, struct procstat *out)
{
	cleanup_free char *text = NULL;
	char path[32];
	size_t n;
	int r;

	snprintf(path, sizeof(path), "%d/stat", (int)pid);
	r = read_whole_file_at(proc, path, LIMIT, &text, &n);
	return r == -ENOENT ? -ESRCH : r < 0 ? r : parse(text, out);
}

uint64_t procstat_start_ns(pid_t pid)
{
	cleanup_close int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct procstat st;

	return procstat_read(proc, pid, &st) < 0 ? 0 : st.start_ns;
}

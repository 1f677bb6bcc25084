/* SPDX-License-Identifier: MIT */
#include "attach/uprobe/uprobe_hold.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/target/target.h"
#include "base/log.h"

#define LOOK_MS 100

static int compare(const void *a, const void *b)
{
	const int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

/* mmattach's own keepers do not trap where memory is not the file's. */
static bool has_tracer(pid_t pid, bool name_it)
{
	/* of its first thread, which gdb and strace have, too: reading all threads takes long if there are many */
	const pid_t tracer = (pid_t)target_status_number(pid, "TracerPid");
	struct target_info t;
	bool has = tracer && target_read_process(tracer, &t) == 0;

	if (!has)
		return false;
	has = strcmp(t.comm, TARGET_KEEPER_COMM) != 0;
	if (has && name_it)
		log_info("the probes stay, and record nothing, until %s (%d) has detached: it may have breakpoints "
			 "there", t.comm, (int)tracer);
	target_fini(&t);
	return has;
}

/* All but @fds, sorted. */
static void close_others(const int *fds, size_t n)
{
	unsigned from = 0;

	for (size_t i = 0; i < n; i++) {
		if ((unsigned)fds[i] > from)
			(void)!syscall(SYS_close_range, from, (unsigned)fds[i] - 1, 0);
		from = (unsigned)fds[i] + 1;
	}
	(void)!syscall(SYS_close_range, from, ~0u, 0);
}

static _Noreturn void hold(pid_t pid, int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	/* a signal for mmattach's process group, as by Ctrl-C, is not for the child */
	setsid();
	while (poll(&p, 1, LOOK_MS) <= 0 && has_tracer(pid, false))
		;
	_exit(0);
}

void uprobe_hold(pid_t pid, int pidfd, int *fds, size_t n)
{
	pid_t child;

	if (!has_tracer(pid, true))
		return;
	child = fork();
	if (child < 0)
		log_warn_errno(-errno, "no process can be made to keep the probes");
	if (child != 0)
		return;
	qsort(fds, n, sizeof(*fds), compare);
	close_others(fds, n);
	hold(pid, pidfd);
}

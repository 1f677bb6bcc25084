/* SPDX-License-Identifier: MIT */
#include "attach/uprobe/uprobe_hold.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "attach/target/target.h"
#include "base/closefds.h"
#include "base/log.h"

#define LOOK_MS 100

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
	closefds_but(fds, n);
	hold(pid, pidfd);
}

/* SPDX-License-Identifier: MIT */
#include "attach/uprobe/uprobe_lease.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/uprobe/uprobe_parts.h"
#include "base/closefds.h"

#define ANSWER_NS 2000000000ull		/* the child has so long to make the probes */

/* --- the child --- */

static int keep_only_probes(const struct uprobe *u, int renew)
{
	size_t n = 0;
	int *fds = uprobe_collect_fds(u, &n);

	if (!fds)
		return -ENOMEM;
	/* in place of that of the process */
	fds[0] = renew;
	closefds_but(fds, n);
	free(fds);
	return 0;
}

static _Noreturn void keep(int renew, uint64_t lease_ns)
{
	struct pollfd p = { .fd = renew, .events = POLLIN };
	char bytes[64];

	while (poll(&p, 1, (int)(lease_ns / 1000000)) > 0 && read(renew, bytes, sizeof(bytes)) > 0)
		;
	_exit(0);
}

static _Noreturn void run(struct uprobe *u, const uint32_t *sites, size_t n, int renew, int answer, uint64_t lease_ns)
{
	sigset_t all;
	int r;

	/* a signal for mmattach's process group, as by Ctrl-C or Ctrl-Z, is not for the child */
	setsid();
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	prctl(PR_SET_NAME, "mm-probes");
	r = uprobe_plant(u, sites, n);
	if (write(answer, &r, sizeof(r)) != sizeof(r) || r < 0)
		_exit(1);
	if (keep_only_probes(u, renew) == 0)
		keep(renew, lease_ns);
	_exit(1);
}

/* --- and we --- */

static int await_answer(int answer)
{
	struct pollfd p = { .fd = answer, .events = POLLIN };
	int r, got;

	while ((got = poll(&p, 1, (int)(ANSWER_NS / 1000000))) < 0 && errno == EINTR)
		;
	if (got == 0)
		return -ETIMEDOUT;
	return read(answer, &r, sizeof(r)) == sizeof(r) ? r : -EPIPE;
}

int uprobe_lease_begin(struct uprobe_lease *l, struct uprobe *u, const uint32_t *sites, size_t n, uint64_t lease_ns)
{
	int renew[2], answer[2], r;

	*l = (struct uprobe_lease){ .renew = -1 };
	if (pipe2(renew, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(answer, O_CLOEXEC) < 0) {
		r = -errno;
		close(renew[0]);
		close(renew[1]);
		return r;
	}
	l->child = fork();
	r = l->child < 0 ? -errno : 0;
	if (l->child == 0) {
		close(renew[1]);
		run(u, sites, n, renew[0], answer[1], lease_ns);
	}
	close(renew[0]);
	close(answer[1]);
	if (r < 0) {
		l->child = 0;
		close(renew[1]);
	} else {
		l->renew = renew[1];
		/* more bytes than fit need not be written */
		fcntl(l->renew, F_SETFL, O_NONBLOCK);
		r = await_answer(answer[0]);
		if (r < 0)
			uprobe_lease_end(l);
		else
			uprobe_note_lent(u, sites, n);
	}
	close(answer[0]);
	return r;
}

bool uprobe_lease_renew(struct uprobe_lease *l)
{
	return l->child && (write(l->renew, "", 1) == 1 || errno == EAGAIN);
}

void uprobe_lease_end(struct uprobe_lease *l)
{
	if (!l->child)
		return;
	close(l->renew);
	while (waitpid(l->child, NULL, 0) < 0 && errno == EINTR)
		;
	*l = (struct uprobe_lease){ .renew = -1 };
}

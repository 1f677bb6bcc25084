/* SPDX-License-Identifier: MIT */
#include "attach/uprobe/uprobe_lease.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/uprobe/uprobe_parts.h"
#include "base/closefds.h"

#define ANSWER_MS 1000			/* the child has so long to make the probes, */
#define END_MS 300			/* and to end, until it is killed: it may be stopped */
#define END 'e'				/* what it is sent then; anything else renews the lease */

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

/* 0: it was asked to end. */
static int keep(int renew, uint64_t lease_ns)
{
	struct pollfd p = { .fd = renew, .events = POLLIN };
	char bytes[64];
	ssize_t n;

	/* other children of mmattach may have our parent's end of the pipe, so that it is not enough to wait for that */
	while (poll(&p, 1, (int)(lease_ns / 1000000)) > 0 && (n = read(renew, bytes, sizeof(bytes))) > 0)
		if (memchr(bytes, END, (size_t)n))
			return 0;
	return 1;
}

static _Noreturn void run(struct uprobe *u, const uint32_t *sites, size_t n, const int fds[2], uint64_t lease_ns,
			  pid_t parent)
{
	const int renew = fds[0], answer = fds[1];
	sigset_t all;
	int r;

	/* a signal for mmattach's process group, as by Ctrl-C or Ctrl-Z, is not for the child */
	setsid();
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	prctl(PR_SET_NAME, "mm-probes");
	/* its end is not to depend on its being scheduled, or continued */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	r = uprobe_plant(u, sites, n);
	if (write(answer, &r, sizeof(r)) != sizeof(r) || r < 0)
		_exit(1);
	_exit(keep_only_probes(u, renew) == 0 ? keep(renew, lease_ns) : 1);
}

/* --- and we --- */

static int await_answer(int answer)
{
	struct pollfd p = { .fd = answer, .events = POLLIN };
	int r, got;

	while ((got = poll(&p, 1, ANSWER_MS)) < 0 && errno == EINTR)
		;
	if (got == 0)
		return -ETIMEDOUT;
	return read(answer, &r, sizeof(r)) == sizeof(r) ? r : -EPIPE;
}

int uprobe_lease_begin(struct uprobe_lease *l, struct uprobe *u, const uint32_t *sites, size_t n, uint64_t lease_ns)
{
	const pid_t parent = getpid();
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
		run(u, sites, n, (const int[]){ renew[0], answer[1] }, lease_ns, parent);
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
			(void)uprobe_lease_end(l);
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

bool uprobe_lease_end(struct uprobe_lease *l)
{
	const struct timespec ms = { 0, 1000000 };
	const pid_t child = l->child;
	int status = 0, waited = 0;
	pid_t r;

	if (!l->child)
		return true;
	(void)!write(l->renew, &(const char){ END }, 1);
	close(l->renew);
	while ((r = waitpid(l->child, &status, WNOHANG)) == 0 && waited++ < END_MS)
		nanosleep(&ms, NULL);
	if (r == 0)
		kill(l->child, SIGKILL);
	while (r == 0)
		if ((r = waitpid(l->child, &status, 0)) < 0 && errno == EINTR)
			r = 0;
	*l = (struct uprobe_lease){ .renew = -1 };
	return r == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
